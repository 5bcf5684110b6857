//! The keys of sandboxes' authorities, which the broker keeps sealed with the master key of the secrets.
//!
//! They are sealed anew here. While the broker runs their files are its own, so it holds still for as long as that takes.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use egress::broker::Broker;
use files::Durability;
use secrets::{
    keeper::Reseal,
    seal::{Rewrapped, Sealer},
};
use serde_json::Value;

#[derive(Debug)]
pub(crate) struct Authorities {
    /// Where the broker has one file for each sandbox.
    pub(crate) directory: PathBuf,
    /// Who else writes these files, from when it runs.
    pub(crate) broker: Option<Arc<Broker>>,
}

impl Reseal for Authorities {
    fn reseal(&self, sealer: &Sealer) -> Result<(), String> {
        match &self.broker {
            Some(broker) => broker.undisturbed(|| self.all(sealer)),
            None => self.all(sealer),
        }
    }
}

impl Authorities {
    fn all(&self, sealer: &Sealer) -> Result<(), String> {
        let files = match fs_err::read_dir(&self.directory) {
            Ok(files) => files,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        for file in files {
            let path = file.map_err(|error| error.to_string())?.path();
            let Some(anew) = with_new_key(&path, sealer) else { continue };
            files::write(&path, &anew, files::PRIVATE, Durability::Synced)
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

/// The file with its key sealed anew. `None` if it has the new key, or nothing that any of our keys opens.
fn with_new_key(path: &Path, sealer: &Sealer) -> Option<Vec<u8>> {
    if path.extension().is_none_or(|extension| extension != "json") {
        return None;
    }
    let mut shape: Value = serde_json::from_slice(&fs_err::read(path).ok()?).ok()?;
    let key = shape.get_mut("key")?;
    match sealer.rewrap(&STANDARD.decode(key.as_str()?).ok()?).ok()? {
        Rewrapped::AsItWas => None,
        Rewrapped::Anew(bytes) => {
            *key = Value::String(STANDARD.encode(bytes));
            serde_json::to_vec(&shape).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use secrets::{
        randomness::SystemRandomness,
        seal::{Keys, MasterKey},
    };

    use super::*;

    #[test]
    fn keys_of_authorities_are_sealed_anew() {
        let directory = tempfile::tempdir().unwrap();
        let old = Keys::only(MasterKey::generate(&SystemRandomness).unwrap());
        let both = old.replaced_by(MasterKey::generate(&SystemRandomness).unwrap());
        let sealer = Sealer::new(old, SystemRandomness);
        let key = STANDARD.encode(sealer.seal("a sandbox", b"its key").unwrap());
        let path = directory.path().join("s_1.json");
        fs_err::write(&path, format!(r#"{{"version":1,"key":"{key}","generation":7}}"#)).unwrap();
        fs_err::write(directory.path().join("log.jsonl"), "{}\n").unwrap();
        sealer.use_keys(both.clone());
        let authorities = Authorities { directory: directory.path().to_owned(), broker: None };
        authorities.reseal(&sealer).unwrap();
        sealer.use_keys(both.without_former());
        let shape: Value = serde_json::from_slice(&fs_err::read(&path).unwrap()).unwrap();
        assert_eq!(shape["generation"], 7);
        let key = STANDARD.decode(shape["key"].as_str().unwrap()).unwrap();
        assert_eq!(&sealer.open("a sandbox", &key).unwrap()[..], b"its key");
    }

    #[test]
    fn where_nothing_is_kept_nothing_is_missed() {
        let directory = tempfile::tempdir().unwrap();
        let keys = Keys::only(MasterKey::generate(&SystemRandomness).unwrap());
        let authorities = Authorities { directory: directory.path().join("none"), broker: None };
        authorities.reseal(&Sealer::new(keys, SystemRandomness)).unwrap();
    }
}
