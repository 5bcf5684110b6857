//! Records: published whole, checked before use, removed with the layers that were theirs alone.

use std::{collections::BTreeMap, fs};

use tempfile::TempDir;

use super::*;
use crate::disk::{Budget, Limit, Wish};

struct Scratch {
    images: Images,
    root: TempDir,
}

const LIMIT: Limit = Limit { bytes: 64 << 20, files: 1_000 };

impl Scratch {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        Self { images: Self::open(&root), root }
    }

    fn open(root: &TempDir) -> Images {
        let budget = Budget { bytes: 1 << 30, guaranteed_bytes: 1 << 20 };
        let disks = Disks::open(&root.path().join("disks"), Wish::Plain, budget).unwrap();
        Images::open(&root.path().join("images"), disks).unwrap()
    }

    /// As a server that was restarted.
    fn restart(&mut self) {
        self.images = Self::open(&self.root);
    }

    /// Publishes an image of one new layer of `kib` over `below`.
    fn build(&self, letter: char, kib: usize, below: &[&str]) -> ImageKey {
        let (key, disk) = (key(letter), format!("setup-{letter}").parse().unwrap());
        let name: LayerName = format!("layer-{letter}").parse().unwrap();
        let disks = self.images.disks();
        let at = disks.create_for_setup(&disk, LIMIT).unwrap();
        fs::write(at.join("upper/content"), vec![7; kib << 10]).unwrap();
        let made = disks.seal(&disk, &name).unwrap();
        let below = below.iter().map(|name| name.parse().unwrap());
        let layers: Vec<_> = [name].into_iter().chain(below).collect();
        self.images.publish(&key, &made.proof, &layers, provenance()).unwrap();
        key
    }

    fn record(&self, key: &ImageKey) -> PathBuf {
        self.images.record(key)
    }
}

fn key(letter: char) -> ImageKey {
    letter.to_string().repeat(64).parse().unwrap()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn provenance() -> Provenance {
    Provenance {
        base: "host".to_owned(),
        base_digest: "sha256:0".to_owned(),
        sources: vec!["shop@0123".to_owned()],
        setup: "make setup".to_owned(),
        setup_digest: "sha256:1".to_owned(),
        inputs: BTreeMap::from([("Cargo.lock".to_owned(), "sha256:2".to_owned())]),
        environment: BTreeMap::new(),
        made_by: "somebody".to_owned(),
        lamp_version: "0.1.0".to_owned(),
        purpose: Purpose::Setup,
        built_at_millis: 1_234,
        left: None,
    }
}

fn refusal(images: &Images, key: &ImageKey) -> String {
    match images.find(key) {
        Err(error @ StoreError::Refused { .. }) => error.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_published_image_is_found_again_after_a_restart() {
    let mut scratch = Scratch::new();
    assert_eq!(scratch.images.find(&key('a')).unwrap(), None);
    let key = scratch.build('a', 64, &[]);
    let built = scratch.images.find(&key).unwrap().unwrap();
    assert_eq!(built.provenance, provenance());
    assert!(built.layers[0].path.join("content").exists());
    assert!(built.bytes() >= 64 << 10);
    scratch.restart();
    assert_eq!(scratch.images.find(&key).unwrap().unwrap(), built);
    let shown = built.shown(at(5), 2);
    assert_eq!((shown.built_at_millis, shown.used_at_millis, shown.users), (1_234, 5, 2));
}

#[test]
fn an_image_is_published_only_with_the_proof_of_its_uppermost_layer() {
    let scratch = Scratch::new();
    scratch.build('a', 1, &[]);
    let disks = scratch.images.disks();
    let made =
        disks.import_layer(&"base".parse().unwrap(), |_| Ok::<_, std::io::Error>(())).unwrap();
    let layers = ["layer-a".parse().unwrap(), "base".parse().unwrap()];
    let refused = scratch.images.publish(&key('b'), &made.proof, &layers, provenance());
    assert!(matches!(refused, Err(StoreError::Unproven { .. })));
    assert!(!scratch.record(&key('b')).exists());
}

#[test]
fn a_record_that_was_changed_cut_off_or_moved_is_refused() {
    let mut scratch = Scratch::new();
    let key_a = scratch.build('a', 1, &[]);
    let whole = fs::read_to_string(scratch.record(&key_a)).unwrap();
    let cases = [
        (whole.replace("make setup", "make evil!"), "its record was changed"),
        (whole.replace("layer-a", "layer-b"), "its record was changed"),
        (whole[..whole.len() / 2].to_owned(), "cannot be read"),
        (String::new(), "cannot be read"),
        (whole.replace("\"version\": 1", "\"version\": 2"), "has version 2"),
        (whole.replacen('{', "{\"more\": 1,", 1), "cannot be read"),
    ];
    for (text, reason) in cases {
        fs::write(scratch.record(&key_a), text).unwrap();
        scratch.restart();
        let said = refusal(&scratch.images, &key_a);
        assert!(said.contains(reason) && said.contains("build it again"), "{said}");
    }
    fs::write(scratch.record(&key('b')), &whole).unwrap();
    assert!(refusal(&scratch.images, &key('b')).contains("is that of"));
    fs::write(scratch.record(&key_a), &whole).unwrap();
    assert!(scratch.images.find(&key_a).unwrap().is_some(), "the control");
}

#[test]
fn an_image_whose_layer_is_missing_or_changed_is_refused() {
    let mut scratch = Scratch::new();
    let key = scratch.build('a', 1, &[]);
    let path = scratch.images.find(&key).unwrap().unwrap().layers[0].path.clone();
    fs::write(path.join("more"), vec![1; 100_000]).unwrap();
    scratch.restart();
    assert!(refusal(&scratch.images, &key).contains("was changed"));
    assert!(scratch.images.list().unwrap().is_empty());
    scratch.images.disks().remove_layer(&"layer-a".parse().unwrap()).unwrap();
    assert!(refusal(&scratch.images, &key).contains("there is no layer `layer-a`"));
}

#[test]
fn the_longest_unused_goes_first_and_what_is_in_use_stays() {
    let scratch = Scratch::new();
    for (letter, used) in [('a', 10), ('b', 30), ('c', 20), ('d', 40)] {
        let key = scratch.build(letter, 1_024, &[]);
        scratch.images.touch(&key, at(used)).unwrap();
    }
    let order: Vec<_> = scratch.images.list().unwrap().iter().map(|(_, used)| *used).collect();
    assert_eq!(order, [at(40), at(30), at(20), at(10)]);
    let in_use = InUse { images: BTreeSet::from([key('a')]), ..InUse::default() };
    let gone = scratch.images.prune(Keep::Bytes(2_100 << 10), &in_use).unwrap();
    let gone: Vec<_> = gone.iter().map(|(built, _)| built.key.clone()).collect();
    assert_eq!(gone, [key('c'), key('b')]);
    let left = scratch.images.disks().layers().unwrap();
    assert_eq!(left, ["layer-a".parse().unwrap(), "layer-d".parse().unwrap()]);
    assert_eq!(scratch.images.find(&key('c')).unwrap(), None);
    scratch.images.prune(Keep::Bytes(0), &in_use).unwrap();
    assert_eq!(scratch.images.list().unwrap().len(), 1);
}

#[test]
fn what_nobody_used_for_long_goes_and_what_is_in_use_stays() {
    let scratch = Scratch::new();
    for (letter, used) in [('a', 10), ('b', 30), ('c', 20), ('d', 40)] {
        let key = scratch.build(letter, 16, &[]);
        scratch.images.touch(&key, at(used)).unwrap();
    }
    let in_use = InUse { images: BTreeSet::from([key('a')]), ..InUse::default() };
    let gone = scratch.images.prune(Keep::UsedSince(at(30)), &in_use).unwrap();
    let gone: Vec<_> = gone.iter().map(|(built, _)| built.key.clone()).collect();
    assert_eq!(gone, [key('c')]);
    assert_eq!(scratch.images.list().unwrap().len(), 3);
}

#[test]
fn a_layer_goes_with_the_last_image_that_names_it() {
    let scratch = Scratch::new();
    let below = scratch.build('a', 1_024, &[]);
    let above = scratch.build('b', 16, &["layer-a"]);
    scratch.images.touch(&below, at(1)).unwrap();
    scratch.images.touch(&above, at(2)).unwrap();
    let shared = 1_200 << 10;
    assert!(
        scratch.images.prune(Keep::Bytes(shared), &InUse::default()).unwrap().is_empty(),
        "counted once"
    );
    scratch.images.remove(&below, &InUse::default()).unwrap();
    assert_eq!(scratch.images.disks().layers().unwrap().len(), 2);
    assert!(scratch.images.find(&above).unwrap().is_some());
    scratch.images.remove(&above, &InUse::default()).unwrap();
    assert!(scratch.images.disks().layers().unwrap().is_empty());
}

#[test]
fn what_a_crash_left_is_swept_and_what_is_used_is_not() {
    let mut scratch = Scratch::new();
    scratch.build('a', 1, &[]);
    let fill = |_: &Path| Ok::<_, std::io::Error>(());
    for name in ["lost", "held"] {
        scratch.images.disks().import_layer(&name.parse().unwrap(), fill).unwrap();
    }
    let unfinished = scratch.record(&key('b')).with_extension("unfinished");
    fs::write(&unfinished, "{").unwrap();
    scratch.restart();
    assert!(!unfinished.exists());
    let layers = BTreeSet::from(["held".parse().unwrap()]);
    let swept = scratch.images.sweep(&InUse { layers, ..InUse::default() }).unwrap();
    assert_eq!(swept, ["lost".parse().unwrap()]);
    assert_eq!(scratch.images.disks().layers().unwrap().len(), 2);
}

#[test]
fn pruning_removes_records_that_would_be_refused() {
    let mut scratch = Scratch::new();
    let key = scratch.build('a', 1, &[]);
    fs::write(scratch.record(&key), "{").unwrap();
    scratch.restart();
    assert!(scratch.images.prune(Keep::Bytes(u64::MAX), &InUse::default()).unwrap().is_empty());
    assert!(!scratch.record(&key).exists());
}

#[tokio::test]
async fn two_builds_of_one_key_build_once_and_others_do_not_wait() {
    let scratch = Scratch::new();
    let first = scratch.images.lock(&key('a')).await;
    let other = scratch.images.lock(&key('b')).await;
    let images = scratch.images.clone();
    let mut second = std::pin::pin!(async move {
        let _held = images.lock(&key('a')).await;
        images.find(&key('a')).unwrap().is_some()
    });
    assert!(futures_poll(second.as_mut()).await.is_none(), "it waits");
    scratch.build('a', 1, &[]);
    drop((first, other));
    assert!(second.await, "it finds what the first has built");
}

/// Polls once.
async fn futures_poll<T>(mut future: std::pin::Pin<&mut impl Future<Output = T>>) -> Option<T> {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(match future.as_mut().poll(context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[test]
fn a_record_with_sizes_beyond_all_numbers_is_only_very_large() {
    let layer = |name: &str, bytes| BuiltLayer {
        name: name.parse().unwrap(),
        path: PathBuf::from("/"),
        bytes,
    };
    let layers = vec![layer("a", u64::MAX), layer("b", 1)];
    let built = Built { key: key('a'), provenance: provenance(), layers };
    assert_eq!(built.bytes(), u64::MAX);
    assert_eq!(total_bytes(&[(Arc::new(built), at(0))]), u64::MAX);
}
