//! How a layer says that something below is gone: by a file whose name begins with `.wh.`.

use super::{Inside, Trouble};

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing that is below this directory shows.
    Opaque { directory: Inside },
    /// What is below at this path does not show.
    Hidden { path: Inside },
    /// Another tool's notes to itself.
    Foreign,
}

const PREFIX: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";
const NOTES: &[u8] = b".wh..wh.";

impl Mark {
    /// Nothing, if the path is no mark.
    pub(super) fn of(path: &Inside) -> Option<Result<Self, Trouble>> {
        let (directory, name) = path.split()?;
        let hidden = name.strip_prefix(PREFIX)?;
        if name == OPAQUE {
            return Some(Ok(Self::Opaque { directory }));
        }
        if name.starts_with(NOTES) {
            return Some(Ok(Self::Foreign));
        }
        if matches!(hidden, b"" | b"." | b"..") {
            return Some(Err(Trouble::Refused("hides no name".to_owned())));
        }
        let path = directory.join(hidden);
        Some(
            path.map(|path| Self::Hidden { path })
                .map_err(|_| Trouble::Refused("hides no name".to_owned())),
        )
    }
}
