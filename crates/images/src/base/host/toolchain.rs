//! Whether a directory that the operator names may be shown to every sandbox.
//!
//! Toolchains often live in a home, next to keys. A whole home is refused, and so is a directory that holds a file which
//! is known to be a secret. This is a guard against a slip, not against an operator.

use std::{fs, io::Read, path::Path};

use super::{is_below, on};
use crate::base::BaseError;

/// Neither these nor anything below.
const REFUSED_WITH_ALL_BELOW: [&str; 6] = ["/proc", "/sys", "/dev", "/run", "/boot", "/etc"];
/// Not these; a toolchain below may be.
const REFUSED: [&str; 9] =
    ["/", "/home", "/root", "/var", "/var/lib", "/var/home", "/mnt", "/media", "/srv"];
/// Every sandbox has these for itself.
const OWN: [&str; 4] = ["/tmp", "/var/tmp", "/workspace", "/.lamp"];
/// A directory directly in one of these is somebody's home.
const HOMES: [&str; 2] = ["/home", "/var/home"];
/// Hold secrets wherever they are.
const SECRET: [&str; 16] = [
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".vault-token",
    ".docker/config.json",
    ".config/gcloud",
    ".config/gh",
    ".m2/settings.xml",
    ".gem/credentials",
    "credentials.toml",
    "id_ed25519",
];
/// Hold a secret only if this is in them.
const SECRET_WITH: [(&str, &str); 4] = [
    (".npmrc", "_auth"),
    (".pypirc", "password"),
    (".yarnrc.yml", "npmAuthToken"),
    ("credentials", ""),
];

/// The path as it is bound, or why it is not.
pub(super) fn check(root: &Path, path: &Path) -> Result<String, BaseError> {
    let refused = |reason: &str| {
        BaseError::refused(format!(
            "the toolchain `{}` is not shown to sandboxes: {reason}",
            path.display()
        ))
    };
    let text = path.to_str().ok_or_else(|| refused("its name is not UTF-8"))?;
    let is_plain = text.starts_with('/') && !text.split('/').any(|name| matches!(name, "." | ".."));
    if !is_plain {
        return Err(refused("write its whole path, without `.` and `..`"));
    }
    let text = format!(
        "/{}",
        text.split('/').filter(|name| !name.is_empty()).collect::<Vec<_>>().join("/")
    );
    refuse_place(&text).map_err(refused)?;
    let place = on(root, &text);
    // A link could lead from a harmless name to a home.
    let real = fs::canonicalize(&place).map_err(|_| refused("there is no such directory"))?;
    let real_root = fs::canonicalize(root).map_err(|_| refused("there is no such directory"))?;
    let real = real.strip_prefix(&real_root).map_err(|_| refused("it leads elsewhere"))?;
    let real = format!("/{}", real.display());
    if real != text {
        return Err(refused(&format!("it is a link; name `{real}` itself")));
    }
    if !place.is_dir() {
        return Err(refused("it is not a directory"));
    }
    match secret_in(&place) {
        Some(secret) => Err(refused(&format!("there is `{secret}` in it, which holds secrets"))),
        None => Ok(text),
    }
}

fn refuse_place(path: &str) -> Result<(), &'static str> {
    if REFUSED_WITH_ALL_BELOW.iter().any(|refused| is_below(path, refused)) {
        return Err("it is a part of the running system");
    }
    if OWN.iter().any(|own| is_below(path, own)) {
        return Err("every sandbox has something of its own there");
    }
    if REFUSED.contains(&path) {
        return Err("it holds more than a toolchain; name the directory of the toolchain itself");
    }
    let is_home = Path::new(path)
        .parent()
        .and_then(Path::to_str)
        .is_some_and(|parent| HOMES.contains(&parent));
    if is_home {
        return Err("it is a whole home; name the directory of the toolchain itself");
    }
    if path.split('/').any(|name| SECRET.contains(&name) || matches!(name, ".docker" | ".config")) {
        return Err("it is where secrets are kept");
    }
    Ok(())
}

fn secret_in(directory: &Path) -> Option<&'static str> {
    let sure = SECRET.into_iter().find(|name| directory.join(name).symlink_metadata().is_ok());
    let likely = || SECRET_WITH.into_iter().find(|(name, sign)| says(&directory.join(name), sign));
    sure.or_else(|| likely().map(|(name, _)| name))
}

fn says(path: &Path, sign: &str) -> bool {
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    let mut text = Vec::new();
    let mut read = || fs::File::open(path)?.take(1 << 20).read_to_end(&mut text);
    // What cannot be read is not harmless.
    is_file && (read().is_err() || String::from_utf8_lossy(&text).contains(sign))
}
