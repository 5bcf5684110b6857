//! The documents of an image, as they are written.
//!
//! Only what is needed is read. A document that could be read as two different kinds is refused: readers that disagree
//! about it would run different images under one digest.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{BaseError, Digest};

/// The most that a document may be.
pub(super) const LARGEST: u64 = 8 << 20;
/// An overlay has a limit, and a real image is far below.
const MOST_LAYERS: usize = 200;

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    pub(super) media_type: Option<String>,
    digest: String,
    pub(super) size: u64,
    pub(super) platform: Option<Platform>,
    #[serde(default)]
    pub(super) annotations: Option<BTreeMap<String, String>>,
}

impl Descriptor {
    pub(super) fn digest(&self) -> Result<Digest, BaseError> {
        self.digest.parse().map_err(|error| BaseError::refused(format!("in the image, {error}")))
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        self.annotations.as_ref()?.get(name).map(String::as_str)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Platform {
    pub(super) os: String,
    pub(super) architecture: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Index {
    pub(super) manifests: Vec<Descriptor>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Manifest {
    pub(super) config: Descriptor,
    pub(super) layers: Vec<Descriptor>,
}

/// What is behind an image's name.
#[derive(Debug)]
pub(super) enum Document {
    Index(Index),
    Manifest(Manifest),
}

impl Document {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, BaseError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Shape {
            schema_version: Option<u64>,
            manifests: Option<serde::de::IgnoredAny>,
            layers: Option<serde::de::IgnoredAny>,
            config: Option<serde::de::IgnoredAny>,
            fs_layers: Option<serde::de::IgnoredAny>,
        }
        let shape: Shape = parse(bytes, "a manifest")?;
        if shape.schema_version != Some(2) || shape.fs_layers.is_some() {
            return Err(BaseError::refused(
                "the manifest is of a version that is not supported; only 2 is",
            ));
        }
        match (shape.manifests, shape.layers.is_some() || shape.config.is_some()) {
            (Some(_), false) => Ok(Self::Index(parse(bytes, "an index")?)),
            (None, true) => Ok(Self::Manifest(parse(bytes, "a manifest")?)),
            (Some(_), true) | (None, false) => Err(BaseError::refused(
                "it cannot be told whether a document is an index or a manifest",
            )),
        }
    }
}

/// The config of an image, as far as it concerns us.
#[derive(Debug, Deserialize)]
pub(super) struct ConfigFile {
    pub(super) os: String,
    pub(super) architecture: String,
    #[serde(default)]
    pub(super) config: Option<Settings>,
    rootfs: RootFs,
}

#[derive(Debug, Deserialize)]
struct RootFs {
    diff_ids: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(super) struct Settings {
    pub(super) env: Option<Vec<String>>,
    pub(super) working_dir: Option<String>,
    pub(super) user: Option<String>,
    pub(super) entrypoint: Option<Vec<String>>,
    pub(super) cmd: Option<Vec<String>>,
}

impl ConfigFile {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, BaseError> {
        parse(bytes, "the image's config")
    }

    /// One per layer, the lowest first.
    pub(super) fn diff_ids(&self, layers: usize) -> Result<Vec<Digest>, BaseError> {
        let told = self.rootfs.diff_ids.len();
        if told != layers {
            return Err(BaseError::refused(format!(
                "the image has {layers} layers and names {told}"
            )));
        }
        if told > MOST_LAYERS {
            return Err(BaseError::refused(format!(
                "the image has {told} layers, and {MOST_LAYERS} are the most"
            )));
        }
        let read = |text: &String| {
            text.parse()
                .map_err(|error| BaseError::refused(format!("in the image's config, {error}")))
        };
        self.rootfs.diff_ids.iter().map(read).collect()
    }
}

/// An entry of `manifest.json`, as `docker save` writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Saved {
    pub(super) config: String,
    #[serde(default)]
    pub(super) repo_tags: Option<Vec<String>>,
    pub(super) layers: Vec<String>,
}

pub(super) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8], what: &str) -> Result<T, BaseError> {
    serde_json::from_slice(bytes).map_err(|error| {
        BaseError::refused(format!("{what} cannot be read: {}", BaseError::shown(error)))
    })
}
