//! Reads what `git diff-tree --raw -z` says about two trees.
//!
//! The program is ours; the names that it repeats are not. Between two NULs any byte can stand, so nothing is looked for in a
//! path: the fields are counted.

use std::fmt;

/// The full hash of an object, SHA-1 or SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName(String);

impl ObjectName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_nothing(&self) -> bool {
        self.0.bytes().all(|byte| byte == b'0')
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for ObjectName {
    type Err = RawError;

    fn from_str(text: &str) -> Result<Self, RawError> {
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && matches!(text.len(), 40 | 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(RawError)
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    File,
    Executable,
    Symlink,
    Submodule,
    /// Directories are not listed, and nothing else is a mode of git; old repositories have some.
    Other(u32),
}

impl Mode {
    const fn of(mode: u32) -> Self {
        match mode {
            0o100_644 => Self::File,
            0o100_755 => Self::Executable,
            0o120_000 => Self::Symlink,
            0o160_000 => Self::Submodule,
            other => Self::Other(other),
        }
    }

    /// Six octal digits.
    pub fn read(text: &str) -> Option<Self> {
        let is_octal = text.len() == 6 && text.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
        is_octal.then(|| u32::from_str_radix(text, 8).ok())?.map(Self::of)
    }

    /// Whether what it names is the content of a file. Old repositories have files that the group may write.
    pub const fn is_file(self) -> bool {
        match self {
            Self::File | Self::Executable => true,
            Self::Symlink | Self::Submodule => false,
            Self::Other(mode) => mode & 0o170_000 == 0o100_000,
        }
    }
}

/// Six octal digits.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self {
            Self::File => 0o100_644,
            Self::Executable => 0o100_755,
            Self::Symlink => 0o120_000,
            Self::Submodule => 0o160_000,
            Self::Other(mode) => *mode,
        };
        write!(f, "{mode:06o}")
    }
}

/// One side of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    pub mode: Mode,
    pub object: ObjectName,
}

/// A path that is new, different or gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    pub path: Vec<u8>,
    pub before: Option<Side>,
    pub after: Option<Side>,
}

impl Touched {
    /// The content to look at, unless it is none of ours to read.
    pub fn new_content(&self) -> Option<&ObjectName> {
        let after = self.after.as_ref()?;
        let is_content = match after.mode {
            Mode::File | Mode::Executable | Mode::Symlink | Mode::Other(_) => true,
            Mode::Submodule => false,
        };
        let is_new = self
            .before
            .as_ref()
            .is_none_or(|before| before.object != after.object || before.mode != after.mode);
        (is_content && is_new).then_some(&after.object)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("git said something that is not a difference")]
pub struct RawError;

/// All that was touched, in git's order.
pub fn read(raw: &[u8]) -> Result<Vec<Touched>, RawError> {
    if raw.is_empty() {
        return Ok(Vec::new());
    }
    let fields = raw.strip_suffix(&[0]).ok_or(RawError)?;
    let mut fields = fields.split(|byte| *byte == 0);
    let mut touched = Vec::new();
    while let Some(heading) = fields.next() {
        let path = fields.next().filter(|path| !path.is_empty()).ok_or(RawError)?;
        touched.push(one(heading, path)?);
    }
    Ok(touched)
}

/// `:100644 100755 <old> <new> M`
fn one(heading: &[u8], path: &[u8]) -> Result<Touched, RawError> {
    let heading = std::str::from_utf8(heading).map_err(|_not_text| RawError)?;
    let heading = heading.strip_prefix(':').ok_or(RawError)?;
    let mut words = heading.split(' ');
    let mut word = || words.next().ok_or(RawError);
    let (old_mode, new_mode) = (word()?, word()?);
    let (old, new) = (word()?.parse::<ObjectName>()?, word()?.parse::<ObjectName>()?);
    let status = word()?;
    let is_end = words.next().is_none();
    if !is_end || !matches!(status, "A" | "D" | "M" | "T") || old.0.len() != new.0.len() {
        return Err(RawError);
    }
    let (before, after) = (side(old_mode, old)?, side(new_mode, new)?);
    if before.is_none() && after.is_none() {
        return Err(RawError);
    }
    Ok(Touched { path: path.to_vec(), before, after })
}

fn side(mode: &str, object: ObjectName) -> Result<Option<Side>, RawError> {
    let is_octal = mode.len() == 6 && mode.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    let mode = u32::from_str_radix(mode, 8).map_err(|_not_octal| RawError)?;
    match (is_octal, mode, object.is_nothing()) {
        (true, 0, true) => Ok(None),
        (true, 1.., false) => Ok(Some(Side { mode: Mode::of(mode), object })),
        (true, 0, false) | (true, 1.., true) | (false, ..) => Err(RawError),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_git_says_is_read() {
        let (old, new, none) = ("a".repeat(40), "b".repeat(40), "0".repeat(40));
        let raw = format!(
            ":100644 100755 {old} {new} M\0a\nb\0:000000 120000 {none} {new} A\0c\0\
             :160000 000000 {old} {none} D\0:100644\0"
        );
        let touched = read(raw.as_bytes()).unwrap();
        assert_eq!(touched.len(), 3);
        assert_eq!(touched[0].path, b"a\nb");
        assert_eq!(touched[0].after.as_ref().unwrap().mode, Mode::Executable);
        assert_eq!(touched[1].before, None);
        assert_eq!(touched[2].after, None);
        assert_eq!(touched[2].path, b":100644", "a path may look like anything");
        assert_eq!(read(b""), Ok(Vec::new()));
    }

    #[test]
    fn a_mode_is_written_as_it_is_read() {
        for text in ["100644", "100755", "120000", "160000", "100664", "040000"] {
            assert_eq!(Mode::read(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn nothing_else_is_read() {
        let (old, new) = ("a".repeat(40), "b".repeat(40));
        for wrong in [
            format!(":100644 100755 {old} {new} M\0a"),
            format!(":100644 100755 {old} {new} M\0\0"),
            format!(":100644 100755 {old} {new} R100\0a\0b\0"),
            format!(":100644 100755 {old} {new} M x\0a\0"),
            format!(":100644 100755 {old} {} M\0a\0", "b".repeat(64)),
            format!(":100644 000000 {old} {new} M\0a\0"),
            format!("100644 100755 {old} {new} M\0a\0"),
            format!(":100648 100755 {old} {new} M\0a\0"),
            format!(":+00644 100755 {old} {new} M\0a\0"),
            format!(":100644 100755 {old} HEAD M\0a\0"),
            "\0".to_owned(),
        ] {
            assert_eq!(read(wrong.as_bytes()), Err(RawError), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }
}
