//! The token of the loopback: 256 random bits in a file that only its owner can read.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

use crate::report::Hint;

/// Where it is in a data directory.
pub fn place(data: &Path) -> PathBuf {
    data.join("token")
}

/// The token of this data directory, made when it is not there yet.
pub fn read_or_make(data: &Path) -> anyhow::Result<String> {
    let path = place(data);
    let what = || format!("cannot make the token `{}`", path.display());
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    match made {
        Ok(mut file) => {
            let token = random().with_context(what)?;
            writeln!(file, "{token}").and_then(|()| file.sync_all()).with_context(what)?;
            Ok(token)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read(data),
        Err(error) => Err(error).with_context(what),
    }
}

/// The token that a server made.
pub fn read(data: &Path) -> anyhow::Result<String> {
    let path = place(data);
    let what = || format!("cannot use the token `{}`", path.display());
    let found = fs_err::metadata(&path).with_context(what)?;
    if found.mode() & 0o077 != 0 {
        let hint =
            format!("`rm {}` and start the server again: it makes a new one", path.display());
        bail!(Hint::new(format!("others can read the token `{}`", path.display()), hint));
    }
    let text = fs_err::read_to_string(&path).with_context(what)?;
    let token = text.trim();
    if token.len() != 64 || !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let hint =
            format!("`rm {}` and start the server again: it makes a new one", path.display());
        bail!(Hint::new(format!("`{}` is not a token", path.display()), hint));
    }
    Ok(token.to_owned())
}

fn random() -> io::Result<String> {
    let mut bytes = [0u8; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _written = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_token_is_made_once_for_its_owner_only() {
        let directory = tempfile::tempdir().unwrap();
        let token = read_or_make(directory.path()).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!(read_or_make(directory.path()).unwrap(), token);
        assert_eq!(read(directory.path()).unwrap(), token);
        let path = place(directory.path());
        assert_eq!(fs_err::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(read_or_make(directory.path()).is_err());
    }
}
