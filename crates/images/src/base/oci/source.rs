//! Where an image is, as people write it.
//!
//! A path (`/srv/image`, `./image.tar`, both with `:NAME` behind if there are several in it) or a reference
//! (`debian:12`, `registry.example/team/tool@sha256:…`).

use std::path::{Path, PathBuf};

use oci_client::Reference;

use super::BaseError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A directory with an `oci-layout` in it.
    Layout {
        path: PathBuf,
        name: Option<String>,
    },
    /// A tar, as `docker save` and others write it.
    Archive {
        path: PathBuf,
        name: Option<String>,
    },
    Registry(Box<Reference>),
}

impl Source {
    /// Looks at the disk to tell a directory from a file.
    pub fn of(text: &str) -> Result<Self, BaseError> {
        let is_path = ["/", "./", "../"].iter().any(|start| text.starts_with(start));
        if !is_path {
            let reference = text.parse().map_err(|error| {
                BaseError::refused(format!("`{text}` is neither a path nor a reference: {error}"))
            })?;
            return Ok(Self::Registry(Box::new(reference)));
        }
        let cuts = text.rmatch_indices(':').map(|(cut, _)| Some(cut));
        for cut in [None].into_iter().chain(cuts) {
            let (path, name) = match cut.and_then(|cut| text.split_at_checked(cut)) {
                Some((path, name)) => (path, Some(name.trim_start_matches(':').to_owned())),
                None => (text, None),
            };
            let name = name.filter(|name| !name.is_empty());
            match Path::new(path).metadata() {
                Ok(found) if found.is_dir() => return Ok(Self::Layout { path: path.into(), name }),
                Ok(found) if found.is_file() => {
                    return Ok(Self::Archive { path: path.into(), name });
                }
                Ok(_) => {
                    return Err(BaseError::refused(format!(
                        "`{path}` is neither a directory nor a file"
                    )));
                }
                Err(_) => {}
            }
        }
        Err(BaseError::refused(format!("there is no image at `{text}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_path_or_a_reference() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("x.tar");
        std::fs::write(&file, "").unwrap();
        let (shown, shown_file) = (directory.path().display(), file.display());
        let layout = |name: Option<&str>| Source::Layout {
            path: directory.path().into(),
            name: name.map(str::to_owned),
        };
        let archive = |name: Option<&str>| Source::Archive {
            path: file.clone(),
            name: name.map(str::to_owned),
        };
        assert_eq!(Source::of(&format!("{shown}")).unwrap(), layout(None));
        assert_eq!(Source::of(&format!("{shown}:v1")).unwrap(), layout(Some("v1")));
        assert_eq!(
            Source::of(&format!("{shown_file}:debian:12")).unwrap(),
            archive(Some("debian:12"))
        );
        assert!(matches!(Source::of("debian:12").unwrap(), Source::Registry(_)));
        assert!(matches!(Source::of("localhost:5000/a/b:c").unwrap(), Source::Registry(_)));
        for wrong in ["", "/nowhere/at/all:x", "UPPER CASE", "a b"] {
            assert!(Source::of(wrong).is_err(), "{wrong}");
        }
    }
}
