//! What a sandbox starts from.

use std::{fmt, str::FromStr};

use super::{Checkout, Compute};
use crate::egress::Network;

/// What to build. Its key is made of everything here that can change the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    pub base: Base,
    /// Checked out before the setup runs.
    pub sources: Vec<Checkout>,
    /// Run once, by the shell, in the first source's directory. `None`: proposed from the manifests
    /// that are found there; an empty script: nothing is run.
    pub setup: Option<String>,
    pub compute: Compute,
    /// What the setup may reach. Does not count for the key: what is fetched is named by lockfiles.
    pub network: Option<Network>,
}

/// Where an image begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// The host's own toolchain, read-only.
    Host,
    /// A root file system.
    Directory(String),
    /// The same, packed.
    Tar(String),
    /// An OCI layout, a `docker save` archive, or a reference in a registry.
    Oci(String),
    /// An image that was built before.
    Image(ImageKey),
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Directory(path) => write!(f, "dir:{path}"),
            Self::Tar(path) => write!(f, "tar:{path}"),
            Self::Oci(reference) => write!(f, "oci:{reference}"),
            Self::Image(key) => write!(f, "image:{key}"),
        }
    }
}

impl FromStr for Base {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "`{text}` is no image: write `host`, `dir:PATH`, `tar:PATH`, `oci:REFERENCE` or `image:KEY`"
            )
        };
        if text == "host" {
            return Ok(Self::Host);
        }
        match text.split_once(':') {
            Some((_, "")) | None => Err(unknown()),
            Some(("dir", path)) => Ok(Self::Directory(path.to_owned())),
            Some(("tar", path)) => Ok(Self::Tar(path.to_owned())),
            Some(("oci", reference)) => Ok(Self::Oci(reference.to_owned())),
            Some(("image", key)) => {
                key.parse().map(Self::Image).map_err(|error: ImageKeyError| error.to_string())
            }
            Some(_) => Err(unknown()),
        }
    }
}

/// The hash of all that an image was made of, in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImageKey(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an image's key: 64 hexadecimal digits in lower case")]
pub struct ImageKeyError(pub String);

impl ImageKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ImageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ImageKey {
    type Err = ImageKeyError;

    fn from_str(text: &str) -> Result<Self, ImageKeyError> {
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && text.len() == 64 {
            return Ok(Self(text.to_owned()));
        }
        Err(ImageKeyError(text.to_owned()))
    }
}

/// An image that was built, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub key: ImageKey,
    /// As [`Base`] is written.
    pub base: String,
    /// The repositories inside, as `name@commit`.
    pub sources: Vec<String>,
    pub setup: String,
    pub bytes: u64,
    pub built_at_millis: i64,
    pub used_at_millis: i64,
    /// How many sandboxes stand on it.
    pub users: u32,
}

/// What a build tells while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildNews {
    /// A new stage, as a sentence.
    Stage(String),
    /// The setup's output.
    Output(Vec<u8>),
    /// A setup script was proposed from manifests, by file name.
    Proposed { script: String, because: Vec<String> },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_reads_as_it_is_written() {
        let key = "ab".repeat(32);
        for text in
            ["host", "dir:/srv/root", "tar:/x.tar", "oci:debian:12", &format!("image:{key}")]
        {
            assert_eq!(text.parse::<Base>().unwrap().to_string(), text);
        }
        for wrong in ["", "hosts", "dir:", "image:x", "docker:debian"] {
            assert!(wrong.parse::<Base>().is_err(), "{wrong}");
        }
    }
}
