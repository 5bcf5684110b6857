//! Replaces one piece of a file, or creates one. The file is the old one or the new one, never a part.

use std::{
    fs::{OpenOptions, Permissions},
    io::Write as _,
    path::Path,
};

use serde::Deserialize;

use super::{Change, Outcome, place};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wish {
    path: String,
    #[serde(default)]
    old: Option<String>,
    new: String,
}

const LARGEST: u64 = 8 << 20;

pub(super) fn run(wish: &Wish, root: &Path) -> Outcome {
    let path = match place::to_change(root, &wish.path) {
        Ok(path) => path,
        Err(why) => return Outcome::failed(why),
    };
    let changed = match wish.old.as_deref().filter(|old| !old.is_empty()) {
        None => create(wish, &path),
        Some(old) => replace(wish, old, &path),
    };
    match changed {
        Ok(text) => {
            let (before, after) = (wish.old.clone(), wish.new.clone());
            let change = Some(Change { path, before, after });
            Outcome { change, ..Outcome::done(text) }
        }
        Err(why) => Outcome::failed(why),
    }
}

fn create(wish: &Wish, path: &Path) -> Result<String, String> {
    match path.symlink_metadata() {
        Ok(about) if about.is_dir() => return Err(format!("`{}` is a directory", wish.path)),
        Ok(about) if about.len() > 0 => {
            return Err(format!(
                "`{}` exists already; read it, and give `old` to replace a piece of it",
                wish.path
            ));
        }
        Ok(_) | Err(_) => {}
    }
    let failed = |error: std::io::Error| format!("`{}` cannot be created: {error}", wish.path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    write(path, &wish.new, None).map_err(failed)?;
    Ok(format!("Created `{}` with {} lines.", wish.path, wish.new.lines().count()))
}

fn replace(wish: &Wish, old: &str, path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("`{}` cannot be changed: {error}", wish.path);
    let about = path.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(format!("`{}` is not a file", wish.path));
    }
    if about.len() > LARGEST {
        return Err(format!("`{}` is too large to edit: {} bytes", wish.path, about.len()));
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| format!("`{}` is not UTF-8; change it with `shell`", wish.path))?;
    // Who reads a file with line numbers does not see how its lines end.
    let has_returns = text.contains("\r\n") && !old.contains("\r\n");
    let (old, new) = if has_returns {
        (old.replace('\n', "\r\n"), wish.new.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        (old.to_owned(), wish.new.clone())
    };
    if old == new {
        return Err("`old` and `new` are the same".to_owned());
    }
    let mut places = text.match_indices(&old);
    let Some((at, _)) = places.next() else { return Err(not_found(wish, &text, &old)) };
    let more = places.count();
    if more > 0 {
        return Err(format!(
            "`old` stands {} times in `{}`; give more of the lines around it, so that it is only one place",
            more + 1,
            wish.path
        ));
    }
    let (before, after) =
        (text.get(..at).unwrap_or_default(), text.get(at + old.len()..).unwrap_or_default());
    write(path, &format!("{before}{new}{after}"), Some(about.permissions())).map_err(failed)?;
    let line = before.lines().count().max(1);
    Ok(format!("Changed `{}` at about line {line}.", wish.path))
}

fn not_found(wish: &Wish, text: &str, old: &str) -> String {
    let first = old.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    let near = text.lines().position(|line| line.trim() == first && !first.is_empty());
    match near {
        Some(at) => format!(
            "`old` does not stand in `{}` exactly so. Its first line is like line {}: compare spaces and the lines after it",
            wish.path,
            at + 1
        ),
        None => format!("`old` does not stand in `{}`; read the file again", wish.path),
    }
}

/// Writes a file beside it, and puts that in its place.
fn write(path: &Path, text: &str, permissions: Option<Permissions>) -> std::io::Result<()> {
    let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let mut beside = std::ffi::OsString::from(".lamp-edit-");
    beside.push(std::process::id().to_string());
    // A name may be as long as it can be; then ours would be too long with it.
    if name.len() < 200 {
        beside.push("-");
        beside.push(name);
    }
    let beside = directory.join(beside);
    // One that an earlier life left.
    let _gone = std::fs::remove_file(&beside);
    let made = OpenOptions::new().write(true).create_new(true).open(&beside);
    #[expect(clippy::disallowed_methods, reason = "it uses no room, and the file is its own")]
    let written = made.and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        std::fs::rename(&beside, path)
    });
    if written.is_err() {
        // It may not even be there.
        let _gone = std::fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
