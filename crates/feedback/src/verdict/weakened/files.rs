//! The changed files, read once.

pub(super) use super::change::{Change, Files, Side};
use super::{
    ALL_BYTES, FILE_BYTES, FileChange, Found, Version, Weakened, Weakening,
    commands::runs_commands, languages::Language, runners::loaded, scan,
};

impl<'a> Files<'a> {
    pub(super) fn read(changes: &[FileChange<'a>], found: &mut Found) -> Self {
        let mut read = Vec::new();
        let mut left = ALL_BYTES;
        for change in changes {
            let old = change.old.map(|version| Side::read(version, &mut left));
            let new = change.new.map(|version| Side::read(version, &mut left));
            if let (Some(Err(path)), _) | (_, Some(Err(path))) = (&old, &new) {
                let is_test = Language::of(path).is_some_and(|language| language.has_tests(path));
                if is_test || runs_commands(path) || loaded(path).is_some() {
                    let what = "the file or the change is too large, or it is not text";
                    found.add(Weakened::new(Weakening::Unread, path, None, what));
                }
                continue;
            }
            let side = |side: Option<Result<Side<'a>, &'a str>>| side.and_then(Result::ok);
            read.push(Change { old: side(old), new: side(new) });
        }
        Self { changes: read }
    }
}

impl<'a> Side<'a> {
    fn read(version: Version<'a>, left: &mut usize) -> Result<Self, &'a str> {
        let Version { path, bytes } = version;
        if bytes.len() > FILE_BYTES {
            return Err(path);
        }
        *left = left.checked_sub(bytes.len()).ok_or(path)?;
        let text = std::str::from_utf8(bytes).map_err(|_| path)?;
        let language = Language::of(path).filter(|language| language.has_tests(path));
        let tests = language.map_or(Vec::new(), |language| scan::tests(text, language));
        Ok(Self { path, text, language, tests })
    }
}
