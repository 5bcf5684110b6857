//! What a sandbox's file system begins with.

use std::{fmt, str::FromStr};

use crate::shape::text;

/// The base of an image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImageBase {
    /// The host's own toolchain, read-only.
    Host,
    /// An OCI image, by reference.
    Oci(String),
    /// A root file system in a directory.
    Directory(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not an image")]
pub struct ImageBaseError(String);

impl FromStr for ImageBase {
    type Err = ImageBaseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+".contains(c);
        let wrong = || ImageBaseError(crate::problem::quoted(text));
        if text == "host" {
            return Ok(Self::Host);
        }
        if text.is_empty() || text.len() > 500 || !text.chars().all(plain) || text.contains("..") {
            return Err(wrong());
        }
        if text.starts_with('/') || text.starts_with("./") {
            return Ok(Self::Directory(text.to_owned()));
        }
        if text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            return Ok(Self::Oci(text.to_owned()));
        }
        Err(wrong())
    }
}

impl fmt::Display for ImageBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::Oci(reference) => f.write_str(reference),
            Self::Directory(path) => f.write_str(path),
        }
    }
}

text!(
    ImageBase,
    "an image",
    help =
        "write `host`, an OCI reference such as `debian:13`, or a directory such as `/srv/rootfs`"
);
