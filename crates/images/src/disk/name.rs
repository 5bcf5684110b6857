//! What disks and layers are called: one plain path component each.

use std::{fmt, str::FromStr};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name for a disk or a layer: 1 to 128 letters in lower case, digits, `-` or `_`"
)]
pub struct NameError(pub String);

fn parse(text: &str) -> Result<String, NameError> {
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    if (1..=128).contains(&text.len()) && text.bytes().all(plain) {
        return Ok(text.to_owned());
    }
    Err(NameError(text.to_owned()))
}

/// A writable disk. Usually the id of its sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DiskName(String);

/// A read-only layer. Usually a hash of what is in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LayerName(String);

impl DiskName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl LayerName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DiskName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        parse(text).map(Self)
    }
}

impl FromStr for LayerName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        parse(text).map(Self)
    }
}

impl fmt::Display for DiskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for LayerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_path_component_and_never_leads_elsewhere() {
        for good in ["sandbox_0192", "a", "ab-3", &"f".repeat(128)] {
            assert_eq!(good.parse::<DiskName>().unwrap().as_str(), good);
        }
        for wrong in ["", ".", "..", "a/b", "a.b", "A", "a b", "a\0", &"f".repeat(129)] {
            assert!(wrong.parse::<LayerName>().is_err(), "{wrong}");
        }
    }
}
