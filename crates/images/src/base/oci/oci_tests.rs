//! One image in every form in which it can come, honest and not.

#[path = "oci_tests/sample.rs"]
mod sample;

use std::{fs, path::PathBuf};

use sample::{Sample, Server};
use tempfile::TempDir;

use super::*;
use crate::base::testing::{Tar, rules};

struct World {
    place: TempDir,
}

impl World {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("scratch")).unwrap();
        Self { place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    async fn find(&self, source: &str, registry: &Registry) -> Result<OciImage, BaseError> {
        find(&Source::of(source)?, registry, &self.path("scratch")).await
    }

    /// Brings in all layers, and shows what is in them.
    async fn bring(&self, image: &OciImage) -> Result<Vec<Vec<String>>, BaseError> {
        let mut shown = Vec::new();
        for layer in &image.layers {
            let into = tempfile::tempdir().unwrap();
            let blob = image.fetch(layer, &self.path("scratch")).await?;
            blob.unpack(into.path(), &rules(Whiteouts::Ordinary))?;
            let mut names: Vec<String> = fs::read_dir(into.path())
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            shown.push(names);
        }
        assert_eq!(
            fs::read_dir(self.path("scratch")).unwrap().count(),
            0,
            "scratch is left behind"
        );
        Ok(shown)
    }

    async fn open(&self, source: &str) -> Result<Vec<Vec<String>>, BaseError> {
        let image = self.find(source, &Registry::default()).await?;
        self.bring(&image).await
    }
}

fn expected() -> Vec<Vec<String>> {
    [vec!["base", "old"], vec!["middle", "old"], vec!["top"]]
        .into_iter()
        .map(|names| names.into_iter().map(str::to_owned).collect())
        .collect()
}

#[tokio::test]
async fn an_image_is_the_same_from_wherever_it_comes() {
    let world = World::new();
    let sample = Sample::honest();
    sample.layout(&world.path("layout"));
    fs::write(world.path("new.tar"), sample.new_archive()).unwrap();
    fs::write(world.path("old.tar"), sample.old_archive()).unwrap();
    fs::write(world.path("packed.tar.gz"), sample::gzip(&sample.old_archive())).unwrap();
    let server = Server::start(&sample).await;
    let registry = Registry { without_tls: vec![server.address()], ..Registry::default() };

    let reference = format!("{}/team/tool:v1", server.address());
    let paths = ["layout", "new.tar", "old.tar", "packed.tar.gz"]
        .map(|name| world.path(name).display().to_string());
    let mut known: Option<(Digest, ImageConfig, Vec<Digest>)> = None;
    for source in paths.iter().chain([&reference]) {
        let image =
            world.find(source, &registry).await.unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(world.bring(&image).await.unwrap(), expected(), "{source}");
        let diff_ids = image.layers.iter().map(|layer| layer.diff_id.clone()).collect();
        let found = (image.digest, image.config, diff_ids);
        assert_eq!(known.get_or_insert_with(|| found.clone()), &found, "{source}");
    }
    let (_, config, _) = known.unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(config.environment, [pair("PATH", "/usr/bin:/bin"), pair("LANG", "C.UTF-8")]);
    assert_eq!(config.working_directory.as_deref(), Some("/app"));
    assert_eq!(config.user.as_deref(), Some("1000:1000"));
    assert_eq!(
        (config.entrypoint, config.command),
        (vec!["/entry".to_owned()], vec!["serve".to_owned()])
    );
    server.stop().await;
}

#[tokio::test]
async fn a_blob_that_is_not_what_its_name_says_is_refused() {
    let honest = Sample::honest();
    for (digest, bytes) in &honest.blobs {
        let world = World::new();
        honest.layout(&world.path("layout"));
        let mut wrong = bytes.clone();
        let last = wrong.len() - 1;
        wrong[last] ^= 1;
        fs::write(world.path("layout").join(format!("blobs/sha256/{}", digest.hex())), wrong)
            .unwrap();
        let refused =
            world.open(&world.path("layout").display().to_string()).await.unwrap_err().sentence();
        assert!(refused.contains("is not what its name says"), "{refused}");
    }
}

#[tokio::test]
async fn a_layer_that_is_not_what_the_config_says_is_refused() {
    let world = World::new();
    let mut sample = Sample::honest();
    sample.lie_about_a_layer();
    sample.layout(&world.path("layout"));
    fs::write(world.path("old.tar"), sample.old_archive()).unwrap();
    for name in ["layout", "old.tar"] {
        let refused = world.open(&world.path(name).display().to_string()).await.unwrap_err();
        assert!(refused.to_string().starts_with("a layer is not what its image says"), "{refused}");
    }
}

#[tokio::test]
async fn a_registry_that_lies_is_refused() {
    let mut sample = Sample::honest();
    let layer = sample.lowest();
    for wrong in [b"short".to_vec(), vec![b'x'; 1 << 20]] {
        sample.blobs.insert(layer.clone(), wrong);
        let world = World::new();
        let server = Server::start(&sample).await;
        let registry = Registry { without_tls: vec![server.address()], ..Registry::default() };
        let image =
            world.find(&format!("{}/team/tool:v1", server.address()), &registry).await.unwrap();
        let error =
            image.fetch(&image.layers[0], &world.path("scratch")).await.unwrap_err().sentence();
        assert!(
            error.contains("something else than")
                || error.contains("more bytes than were announced"),
            "{error}"
        );
        let missing = world
            .find(&format!("{}/team/other:v1", server.address()), &registry)
            .await
            .unwrap_err();
        assert!(matches!(missing, BaseError::Registry { .. }), "{missing}");
        server.stop().await;
    }
}

#[tokio::test]
async fn what_is_no_image_is_named() {
    let world = World::new();
    fs::create_dir(world.path("empty")).unwrap();
    fs::write(world.path("empty.tar"), Tar::new().file("x", "y").bytes()).unwrap();
    fs::write(world.path("noise.tar"), "noise".repeat(1_000)).unwrap();
    fs::write(world.path("up.tar"), Tar::new().file("../index.json", "{}").bytes()).unwrap();
    let secret = world.path("secret");
    fs::write(&secret, r#"{"schemaVersion":2,"manifests":[]}"#).unwrap();
    fs::create_dir(world.path("linked")).unwrap();
    std::os::unix::fs::symlink(&secret, world.path("linked/index.json")).unwrap();
    let mut elsewhere = Sample::honest();
    elsewhere.be_for("plan9", "mips");
    elsewhere.layout(&world.path("elsewhere"));
    let mut cut = Sample::honest().new_archive();
    cut.truncate(cut.len() / 2);
    fs::write(world.path("cut.tar"), cut).unwrap();
    let mut told = Vec::new();
    for name in ["empty", "empty.tar", "noise.tar", "up.tar", "linked", "elsewhere", "cut.tar"] {
        let error =
            world.open(&world.path(name).display().to_string()).await.unwrap_err().sentence();
        told.push(error.replace(&world.place.path().display().to_string(), "…"));
    }
    let machine = format!("linux/{}", sample::architecture());
    insta::assert_snapshot!(told.join("\n").replace(&machine, "linux/THIS"), @r"
    there is no usable file `…/empty/index.json`: No such file or directory (os error 2)
    `…/empty.tar` is not an image: there is neither `index.json` nor `manifest.json` in it
    the archive cannot be read: numeric field was not a number: senoisen when getting cksum for noisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoisenoise
    the archive has an entry whose name leads outside
    there is no usable file `…/linked/index.json`: Too many levels of symbolic links (os error 40)
    the image is not for this machine, linux/THIS; it is for linux/s390x, plan9/mips
    the archive is cut off
    ");
}

#[tokio::test]
async fn a_layer_that_is_there_twice_is_used_once() {
    let world = World::new();
    let sample = Sample::of(&[
        Tar::new().file("a", "").bytes(),
        Tar::new().file("b", "").bytes(),
        Tar::new().file("a", "").bytes(),
    ]);
    sample.layout(&world.path("layout"));
    let shown = world.open(&world.path("layout").display().to_string()).await.unwrap();
    assert_eq!(shown, [["b"], ["a"]]);
}

/// A blob that is what its name says, and unpacks to more than anyone has room for.
#[tokio::test]
async fn a_bomb_is_stopped_at_the_limit() {
    let world = World::new();
    let mut header = Tar::header(tar::EntryType::Regular, b"bomb");
    header.set_size(1 << 40);
    header.set_cksum();
    let mut layer = header.as_bytes().to_vec();
    layer.resize(64 << 20, 0);
    Sample::of(&[layer]).layout(&world.path("layout"));
    let image = world
        .find(&world.path("layout").display().to_string(), &Registry::default())
        .await
        .unwrap();
    let blob = image.fetch(&image.layers[0], &world.path("scratch")).await.unwrap();
    let into = tempfile::tempdir().unwrap();
    let limits = unpack::Limits { bytes: 1 << 20, ..unpack::Limits::default() };
    let refused =
        blob.unpack(into.path(), &Rules { limits, ..rules(Whiteouts::Ordinary) }).unwrap_err();
    assert_eq!(refused.to_string(), "the archive is larger than 1048576 bytes unpacked");
    assert!(fs::metadata(into.path().join("bomb")).unwrap().len() <= 1 << 20);
}
