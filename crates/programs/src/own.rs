//! Where bytes of this program lie in the file that it runs from.
//!
//! To write a program from memory, all of it would be read into the memory of this process first, and stay there. The kernel copies it from
//! file to file instead.

use std::{
    fs::File,
    io,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
};

use rustix::fs::sendfile;

/// Copies `bytes` into `to`, and says how many were copied.
pub(crate) fn copy(bytes: &'static [u8], to: &OwnedFd) -> io::Result<usize> {
    let own = File::open("/proc/self/exe")?;
    let maps = std::fs::read_to_string("/proc/self/maps")?;
    let place =
        Place { address: bytes.as_ptr().addr(), length: bytes.len(), inode: own.metadata()?.ino() };
    let Some(mut offset) = maps.lines().find_map(|line| place.offset(line)) else { return Ok(0) };
    let mut copied = 0;
    while copied < bytes.len() {
        match sendfile(to, &own, Some(&mut offset), bytes.len() - copied) {
            Ok(0) | Err(_) => break,
            Ok(count) => copied += count,
        }
    }
    Ok(copied)
}

/// Bytes in the memory of this process, which stand in a file.
struct Place {
    address: usize,
    length: usize,
    inode: u64,
}

impl Place {
    /// Where in the file they stand, if this line of `/proc/self/maps` is about all of them:
    /// `start-end rights offset device inode path`.
    fn offset(&self, line: &str) -> Option<u64> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let (rights, offset) = (words.next()?, words.next()?);
        let inode: u64 = words.nth(1)?.parse().ok()?;
        let start = usize::from_str_radix(start, 16).ok()?;
        let end = usize::from_str_radix(end, 16).ok()?;
        let before = self.address.checked_sub(start)?;
        let is_here = self.address.checked_add(self.length)? <= end;
        // What can be written may have been.
        let is_as_on_disk = inode == self.inode && !rights.contains('w');
        if !is_here || !is_as_on_disk {
            return None;
        }
        u64::from_str_radix(offset, 16).ok()?.checked_add(u64::try_from(before).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static BYTES: &[u8] = include_bytes!("own.rs");

    #[test]
    fn bytes_are_found_in_the_file_that_this_runs_from() {
        let file = rustix::fs::memfd_create("test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        assert_eq!(copy(BYTES, &file).unwrap(), BYTES.len());
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        assert_eq!(std::fs::read(path).unwrap(), BYTES);
    }

    #[test]
    fn a_line_about_something_else_is_passed_over() {
        let place = Place { address: 0x1010, length: 0x20, inode: 7 };
        let at = |line: &str| place.offset(line);
        assert_eq!(at("1000-2000 r--p 00000300 fe:00 7    /x"), Some(0x310));
        assert_eq!(at("1000-1020 r--p 00000300 fe:00 7    /x"), None, "only a part");
        assert_eq!(at("1000-2000 rw-p 00000300 fe:00 7    /x"), None, "it may have changed");
        assert_eq!(at("1000-2000 r--p 00000300 fe:00 8    /x"), None, "another file");
        assert_eq!(at("2000-3000 r--p 00000300 fe:00 7    /x"), None);
        assert_eq!(at("nonsense"), None);
    }
}
