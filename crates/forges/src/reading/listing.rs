//! Reads what `git ls-tree -r -z` says about a commit, as it comes.
//!
//! The program is ours; the names that it repeats are not. A name that is not UTF-8, holds control characters or is endless is left
//! out: nobody could write it down. A tree that never ends is refused when there is enough of it.

use crate::inspection::{Mode, ObjectName};

/// Of one commit. A tree of some kilobytes can name more files than there are atoms.
pub const MOST_PATHS: usize = 500_000;

/// Of all names together.
pub const MOST_BYTES: usize = 64 << 20;

/// Of one name. No file system has longer ones.
const LONGEST_PATH: usize = 4_096;

/// Mode, kind and hash before the name.
const LONGEST_ENTRY: usize = LONGEST_PATH + 100;

/// The files of a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// Everything that has a name, links and submodules as well.
    pub paths: Vec<String>,
    /// The contents of files that were wanted.
    pub wanted: Vec<(String, ObjectName)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    #[error("git said something that is not a list of files")]
    Strange,
    #[error("it has more than {MOST_PATHS} paths, or more than {MOST_BYTES} bytes of them")]
    TooMany,
}

#[derive(Debug)]
pub struct ListingReader {
    wanted: fn(&str) -> bool,
    entry: Entry,
    seen: usize,
    bytes: usize,
    listing: Listing,
}

/// The one that is not whole yet.
#[derive(Debug)]
enum Entry {
    Begun(Vec<u8>),
    /// Too long to be kept: its end is waited for.
    Endless,
}

impl ListingReader {
    pub const fn new(wanted: fn(&str) -> bool) -> Self {
        let listing = Listing { paths: Vec::new(), wanted: Vec::new() };
        Self { wanted, entry: Entry::Begun(Vec::new()), seen: 0, bytes: 0, listing }
    }

    /// Takes a piece, cut anywhere.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), ListingError> {
        let mut parts = piece.split(|byte| *byte == 0);
        // What stands before the first NUL goes on with what came before; what stands behind the last has no end yet.
        let Some(mut part) = parts.next() else { return Ok(()) };
        for next in parts {
            self.go_on(part);
            self.end()?;
            part = next;
        }
        self.go_on(part);
        Ok(())
    }

    /// Everything, once git has ended.
    pub fn finish(self) -> Result<Listing, ListingError> {
        match self.entry {
            Entry::Begun(left) if left.is_empty() => Ok(self.listing),
            Entry::Begun(_) | Entry::Endless => Err(ListingError::Strange),
        }
    }

    fn go_on(&mut self, part: &[u8]) {
        let Entry::Begun(entry) = &mut self.entry else { return };
        if entry.len().saturating_add(part.len()) > LONGEST_ENTRY {
            self.entry = Entry::Endless;
        } else {
            entry.extend_from_slice(part);
        }
    }

    fn end(&mut self) -> Result<(), ListingError> {
        self.seen += 1;
        if self.seen > MOST_PATHS {
            return Err(ListingError::TooMany);
        }
        let ended = std::mem::replace(&mut self.entry, Entry::Begun(Vec::new()));
        let Entry::Begun(entry) = ended else { return Ok(()) };
        let (mode, object, path) = one(&entry).ok_or(ListingError::Strange)?;
        let Some(path) = writable(path) else { return Ok(()) };
        self.bytes = self.bytes.saturating_add(path.len());
        if self.bytes > MOST_BYTES {
            return Err(ListingError::TooMany);
        }
        if mode.is_file() && (self.wanted)(path) {
            self.listing.wanted.push((path.to_owned(), object));
        }
        self.listing.paths.push(path.to_owned());
        Ok(())
    }
}

/// `100644 blob <hash>\t<path>`
fn one(entry: &[u8]) -> Option<(Mode, ObjectName, &[u8])> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let (heading, path) = entry.split_at_checked(tab)?;
    let path = path.get(1..).filter(|path| !path.is_empty())?;
    let mut words = str::from_utf8(heading).ok()?.split(' ');
    let (mode, kind, object) = (words.next()?, words.next()?, words.next()?);
    let mode = Mode::read(mode)?;
    let fits = match kind {
        "blob" => mode != Mode::Submodule,
        "commit" => mode == Mode::Submodule,
        _other => false,
    };
    let is_end = words.next().is_none();
    (fits && is_end).then_some(())?;
    Some((mode, object.parse().ok()?, path))
}

/// A path that can be written down as it is.
pub(super) fn writable(path: &[u8]) -> Option<&str> {
    let path = str::from_utf8(path).ok()?;
    (path.len() <= LONGEST_PATH && !path.chars().any(char::is_control)).then_some(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(pieces: &[&[u8]]) -> Result<Listing, ListingError> {
        let mut reader = ListingReader::new(|path| path.ends_with("rs"));
        for piece in pieces {
            reader.feed(piece)?;
        }
        reader.finish()
    }

    fn entry(mode: &str, kind: &str, path: &[u8]) -> Vec<u8> {
        let mut entry = format!("{mode} {kind} {}\t", "a".repeat(40)).into_bytes();
        entry.extend(path);
        entry.push(0);
        entry
    }

    #[test]
    fn files_links_and_submodules_are_told_and_only_files_have_contents() {
        let said = [
            entry("100644", "blob", b"a.rs"),
            entry("100755", "blob", "dir/b ü.rs".as_bytes()),
            entry("100664", "blob", b"old.rs"),
            entry("100644", "blob", b"README"),
            entry("120000", "blob", b"link.rs"),
            entry("160000", "commit", b"sub.rs"),
        ]
        .concat();
        let listing = read(&[&said]).unwrap();
        assert_eq!(listing.paths, ["a.rs", "dir/b ü.rs", "old.rs", "README", "link.rs", "sub.rs"]);
        let wanted: Vec<&str> = listing.wanted.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(wanted, ["a.rs", "dir/b ü.rs", "old.rs"]);
        assert_eq!(read(&[]).unwrap(), Listing::default());
    }

    #[test]
    fn names_that_nobody_can_write_down_are_left_out() {
        let long = vec![b'd'; 10_000];
        for odd in [
            b"a\nb.rs".as_slice(),
            b"\xff.rs",
            b"a\x1b[2J",
            b"a\tb.rs",
            "a\u{85}".as_bytes(),
            &long,
        ] {
            let said = [entry("100644", "blob", odd), entry("100644", "blob", b"x.rs")].concat();
            let listing = read(&[&said]).unwrap();
            assert_eq!(listing.paths, ["x.rs"], "{odd:?}");
            assert_eq!(listing.wanted.len(), 1);
        }
    }

    #[test]
    fn nothing_else_is_a_list() {
        let hash = "a".repeat(40);
        for wrong in [
            "\0".to_owned(),
            format!("100644 blob {hash}\ta"),
            format!("100644 blob {hash}\t\0"),
            format!("100644 blob {hash} a\0"),
            format!("100644 blob {hash} 5\ta\0"),
            format!("10064 blob {hash}\ta\0"),
            format!("100648 blob {hash}\ta\0"),
            format!("+00644 blob {hash}\ta\0"),
            format!("100644 tree {hash}\ta\0"),
            format!("100644 commit {hash}\ta\0"),
            format!("160000 blob {hash}\ta\0"),
            "100644 blob HEAD\ta\0".to_owned(),
        ] {
            assert_eq!(read(&[wrong.as_bytes()]), Err(ListingError::Strange), "{wrong:?}");
        }
    }

    #[test]
    fn a_list_without_end_is_refused() {
        let mut reader = ListingReader::new(|_| false);
        let piece = entry("100644", "blob", b"x").repeat(1_000);
        let refused = (0..=500).find_map(|_| reader.feed(&piece).err());
        assert_eq!(refused, Some(ListingError::TooMany));

        let mut reader = ListingReader::new(|_| false);
        let piece = entry("100644", "blob", &[b'x'; 4_000]).repeat(100);
        let refused = (0..=200).find_map(|_| reader.feed(&piece).err());
        assert_eq!(refused, Some(ListingError::TooMany));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            let _ = read(&[&bytes]);
        }

        #[test]
        fn it_does_not_matter_where_it_is_cut(
            paths in prop::collection::vec("[a-z\\n./]{1,12}", 0..8),
            cut in 0_usize..400,
        ) {
            let said: Vec<u8> =
                paths.iter().flat_map(|path| entry("100644", "blob", path.as_bytes())).collect();
            let (first, second) = said.split_at(cut.min(said.len()));
            prop_assert_eq!(read(&[first, second]), read(&[&said]));
        }
    }
}
