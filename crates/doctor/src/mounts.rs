//! Reads `/proc/self/mountinfo`: what is mounted where.

use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The directory of the file system that is mounted here; `/` for all of it.
    pub(crate) root: PathBuf,
    pub(crate) point: PathBuf,
    pub(crate) file_system: String,
    pub(crate) options: Vec<String>,
}

/// Lines that are not understood are left out.
pub(crate) fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

/// `36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda rw,errors=continue`
fn parse_line(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, point) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let file_system = kind.next()?.to_owned();
    let options = kind.nth(1)?.split(',').map(str::to_owned).collect();
    Some(Mount { root: unescape(root), point: unescape(point), file_system, options })
}

/// The kernel writes space, tab, line feed and backslash as three octal digits.
fn unescape(text: &str) -> PathBuf {
    let plain = text
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\");
    PathBuf::from(plain)
}

/// The mount that holds `path`. The later of two on the same point covers the earlier.
pub(crate) fn holding<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let holding = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    holding.max_by_key(|mount| mount.point.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
20 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
21 20 0:21 / /srv/my\\040disk rw shared:2 master:3 - xfs /dev/vdb rw
22 20 0:22 / /srv rw - tmpfs tmpfs rw
23 20 0:23 /some/group /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct
nonsense
24 20 0:24 / /srv rw - btrfs /dev/vdc rw
";

    #[test]
    fn mounts_are_read_and_nonsense_is_left_out() {
        let mounts = parse(TEXT);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[1].point, Path::new("/srv/my disk"));
        assert_eq!(mounts[3].root, Path::new("/some/group"));
        assert_eq!(mounts[3].options, ["rw", "cpu", "cpuacct"]);
    }

    #[test]
    fn the_deepest_and_latest_mount_holds_a_path() {
        let mounts = parse(TEXT);
        let name = |path| holding(&mounts, Path::new(path)).map(|it| it.file_system.as_str());
        assert_eq!(name("/home/ann"), Some("ext4"));
        assert_eq!(name("/srv/data"), Some("btrfs"));
        assert_eq!(name("/srv/my disk/data"), Some("xfs"));
        assert_eq!(name("/srvants"), Some("ext4"));
        assert_eq!(name("relative"), None);
    }
}
