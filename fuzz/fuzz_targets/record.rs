//! The record of an image: only what was written is accepted, and what is accepted leads to layers that are there.
//!
//! The input is a record as it is, if it begins with `R`. Otherwise it is a manifest, which is given its digest here: `@k`, `@n` and `@i` in it
//! stand for the key, the layer's name and the layer's identity, and `@d` for the digest of the only record that was ever written.
#![no_main]

use std::{collections::BTreeMap, path::PathBuf, sync::LazyLock};

use contracts::sandbox::ImageKey;
use images::{
    disk::{Budget, Disks, LayerName, Limit, Wish},
    store::{Built, Images, InUse, Keep, Provenance, Purpose},
};
use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};

/// One image on a real disk, and its record.
struct Ground {
    _place: tempfile::TempDir,
    records: PathBuf,
    disks: Disks,
    key: ImageKey,
    built: Built,
    identity: String,
    digest: String,
}

/// As `images` writes it.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    key: String,
    provenance: Provenance,
    layers: Vec<Layer>,
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Layer {
    name: String,
    identity: String,
    bytes: u64,
}

static GROUND: LazyLock<Ground> = LazyLock::new(Ground::new);

fuzz_target!(|input: &[u8]| {
    let ground = &*GROUND;
    if let Some(record) = input.strip_prefix(b"R") {
        let record = ground.filled(record);
        if let Some(built) = ground.read(record.as_bytes()) {
            assert_eq!(built, ground.built, "a changed record is refused");
        }
        return;
    }
    let Ok(manifest) = serde_json::from_str::<Manifest>(&ground.filled(input)) else { return };
    let Some(built) = ground.read(&signed(&manifest)) else { return };
    assert_eq!((&built.key, &manifest.key), (&ground.key, &ground.key.to_string()));
    assert_eq!(built.provenance, manifest.provenance);
    for layer in &built.layers {
        assert_eq!(layer.path, ground.built.layers[0].path, "a layer that is there");
    }
    let shown = built.shown(built.provenance.built_at(), 0);
    assert!(built.layers.iter().all(|layer| shown.bytes >= layer.bytes));
});

impl Ground {
    fn new() -> Self {
        let place = tempfile::tempdir_in("/dev/shm").expect("a place");
        let budget = Budget { bytes: 1 << 30, guaranteed_bytes: 1 << 20 };
        let disks = Disks::open(&place.path().join("disks"), Wish::Plain, budget).expect("disks");
        let records = place.path().join("images");
        let images = Images::open(&records, disks.clone()).expect("records");
        let disk = "setup-a".parse().expect("a name");
        let layer: LayerName = "layer-a".parse().expect("a name");
        let limit = Limit { bytes: 64 << 20, files: 1_000 };
        disks.create_for_setup(&disk, limit).expect("a disk");
        let made = disks.seal(&disk, &layer).expect("a layer");
        let key: ImageKey = "a".repeat(64).parse().expect("a key");
        let built = images
            .publish(&key, &made.proof, std::slice::from_ref(&layer), provenance())
            .expect("an image");
        let identity = disks.identity(&layer).expect("a layer");
        let record = std::fs::read(records.join(format!("{key}.json"))).expect("a record");
        let record: serde_json::Value = serde_json::from_slice(&record).expect("a record");
        let digest = record["sha256"].as_str().expect("a digest").to_owned();
        Self { _place: place, records, disks, key, built: (*built).clone(), identity, digest }
    }

    fn filled(&self, input: &[u8]) -> String {
        String::from_utf8_lossy(input)
            .replace("@k", self.key.as_str())
            .replace("@n", &self.built.layers[0].name.to_string())
            .replace("@i", &self.identity)
            .replace("@d", &self.digest)
    }

    /// As a server reads it that has just started, and looks at all of its images.
    fn read(&self, record: &[u8]) -> Option<Built> {
        let path = self.records.join(format!("{}.json", self.key));
        std::fs::write(path, record).expect("our own");
        let images = Images::open(&self.records, self.disks.clone()).expect("our own");
        let found = images.find(&self.key).ok().flatten();
        let listed = images.list().expect("what is refused is left out");
        assert_eq!(listed.len(), usize::from(found.is_some()));
        let layers = self.built.layers.iter().map(|layer| layer.name.clone()).collect();
        let in_use = InUse { layers, ..InUse::default() };
        let gone = images.prune(Keep::Bytes(0), &in_use).expect("what is refused is removed");
        assert!(gone.len() <= listed.len());
        found.map(|built| (*built).clone())
    }
}

fn signed(manifest: &Manifest) -> Vec<u8> {
    let written = serde_json::to_string(manifest).expect("it was read");
    let digest = format!("{:x}", Sha256::digest(written.as_bytes()));
    format!(r#"{{"version":1,"sha256":"{digest}","manifest":{written}}}"#).into_bytes()
}

fn provenance() -> Provenance {
    Provenance {
        base: "host".to_owned(),
        base_digest: "sha256:0".to_owned(),
        sources: vec!["shop@0123".to_owned()],
        setup: "make setup".to_owned(),
        setup_digest: "sha256:1".to_owned(),
        inputs: BTreeMap::from([("Cargo.lock".to_owned(), "sha256:2".to_owned())]),
        made_by: "somebody".to_owned(),
        environment: BTreeMap::from([("VIRTUAL_ENV".to_owned(), "/home/lamp/.venv".to_owned())]),
        lamp_version: "0.1.0".to_owned(),
        purpose: Purpose::Setup,
        built_at_millis: 1_234,
        left: None,
    }
}
