//! The record of an image: what it was made of, by whom, and which layers it is.
//!
//! A record carries its own digest and the identity of every layer. One that is cut off, changed, or was written by a version that
//! we do not know is refused before anything starts from it.

use std::collections::BTreeMap;

use contracts::sandbox::ImageKey;
use domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{disk::LayerName, handed::Handed};

/// Raised whenever an older server would misread the record.
const VERSION: u32 = 1;

/// Where an image comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// As [`contracts::sandbox::Base`] is written.
    pub base: String,
    pub base_digest: String,
    /// The repositories inside, as `name@commit`.
    pub sources: Vec<String>,
    /// The script that ran.
    pub setup: String,
    pub setup_digest: String,
    /// The digests of the files that the key was made of, by path.
    pub inputs: BTreeMap<String, String>,
    /// Whose sandbox it was, as [`contracts::sandbox::Owner`] is shown.
    pub made_by: String,
    /// What everything that starts from the image has in its environment besides.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    pub lamp_version: String,
    pub purpose: Purpose,
    pub built_at_millis: i64,
    /// What the setup left in each repository, by its name. Images of older servers do not say, and then it is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<BTreeMap<String, Handed>>,
}

impl Provenance {
    pub fn built_at(&self) -> Timestamp {
        Timestamp::from_millis(self.built_at_millis)
    }
}

/// What the sandbox was for that made it. There is one answer (IM5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Setup,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Manifest {
    pub(super) key: String,
    pub(super) provenance: Provenance,
    /// The uppermost first.
    pub(super) layers: Vec<KnownLayer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnownLayer {
    pub(super) name: String,
    pub(super) identity: String,
    pub(super) bytes: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    version: u32,
    /// Of the manifest, as we write it.
    sha256: String,
    manifest: Manifest,
}

#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

impl Manifest {
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>, serde_json::Error> {
        let sha256 = self.digest()?;
        serde_json::to_vec_pretty(&Record { version: VERSION, sha256, manifest: self.clone() })
    }

    /// Reads the record of `key`, or says why it is refused.
    pub(super) fn from_bytes(key: &ImageKey, bytes: &[u8]) -> Result<Self, String> {
        let broken = |error: serde_json::Error| format!("its record cannot be read: {error}");
        let Versioned { version } = serde_json::from_slice(bytes).map_err(broken)?;
        if version != VERSION {
            return Err(format!("its record has version {version}, and we read {VERSION}"));
        }
        let Record { sha256, manifest, .. } = serde_json::from_slice(bytes).map_err(broken)?;
        if manifest.digest().map_err(broken)? != sha256 {
            return Err("its record was changed".to_owned());
        }
        if manifest.key != key.as_str() {
            return Err(format!("its record is that of {}", manifest.key));
        }
        Ok(manifest)
    }

    pub(super) fn layer_names(&self) -> Result<Vec<LayerName>, String> {
        let names = self.layers.iter().map(|layer| layer.name.parse());
        names.collect::<Result<_, crate::disk::NameError>>().map_err(|error| error.to_string())
    }

    fn digest(&self) -> Result<String, serde_json::Error> {
        Ok(format!("{:x}", Sha256::digest(serde_json::to_vec(self)?)))
    }
}
