//! Which hierarchies are mounted, and where we are in each.

use std::path::{Component, Path, PathBuf};

use super::Version;

/// One mounted hierarchy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) version: Version,
    /// Of version 1; those of version 2 are told by its files.
    pub(super) controllers: Vec<String>,
    pub(super) mount: PathBuf,
    /// Our own group: [`Hierarchy::mount`], or below it.
    pub(super) own: PathBuf,
}

/// Reads `/proc/self/mountinfo` and `/proc/self/cgroup`. Of a hierarchy that is mounted twice, the first counts.
pub(super) fn hierarchies(mounts: &str, own: &str, root: &Path) -> Vec<Hierarchy> {
    let mut found: Vec<Hierarchy> = Vec::new();
    for hierarchy in mounts.lines().filter_map(|line| hierarchy(line, own, root)) {
        let same = |other: &Hierarchy| {
            other.version == hierarchy.version && other.controllers == hierarchy.controllers
        };
        if !found.iter().any(same) {
            found.push(hierarchy);
        }
    }
    found
}

/// `32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu`
fn hierarchy(line: &str, own: &str, root: &Path) -> Option<Hierarchy> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut filesystem = filesystem.split(' ');
    let version = match filesystem.next()? {
        "cgroup" => Version::One,
        "cgroup2" => Version::Two,
        _ => return None,
    };
    let controllers = match version {
        Version::One => filesystem.nth(1)?.split(',').skip(1).map(str::to_owned).collect(),
        Version::Two => Vec::new(),
    };
    let mut fields = mount.split(' ').skip(3);
    let top = unescape(fields.next()?);
    let point = unescape(fields.next()?);
    let mount = below(root, Path::new(&point));
    let group = own.lines().find_map(|line| own_group(line, &controllers))?;
    // A container may see a mount of a part of the hierarchy, and a group outside of it; then the mount is all.
    let inside = Path::new(group).strip_prefix(&top).unwrap_or(Path::new(""));
    let own = below(&mount, inside);
    Some(Hierarchy { version, controllers, mount, own })
}

/// `4:memory:/process` of version 1, `0::/process` of version 2.
fn own_group<'line>(line: &'line str, controllers: &[String]) -> Option<&'line str> {
    let mut parts = line.splitn(3, ':').skip(1);
    let named: Vec<&str> = parts.next()?.split(',').filter(|name| !name.is_empty()).collect();
    let group = parts.next()?;
    let is_ours = match controllers.first() {
        Some(first) => named.contains(&first.as_str()),
        None => named.is_empty(),
    };
    is_ours.then_some(group)
}

/// `path` below `root`, and never anywhere else.
fn below(root: &Path, path: &Path) -> PathBuf {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_)));
    root.components().chain(names).collect()
}

/// A space is written `\040` in the table of mounts.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/a\\040space rw,relatime - cgroup2 cgroup2 rw
42 31 0:38 / /mnt/again rw,relatime - cgroup2 cgroup2 rw
";
    const OWN: &str = "4:memory:/session/x\n2:cpu,cpuacct:/\n1:name=systemd:/init\n0::/user/y\n";

    #[test]
    fn each_hierarchy_is_found_once_with_our_place_in_it() {
        let found = hierarchies(HYBRID, OWN, Path::new("/fake"));
        let told: Vec<String> = found
            .iter()
            .map(|h| format!("{:?} {} {}", h.version, h.controllers.join(","), h.own.display()))
            .collect();
        assert_eq!(
            told,
            [
                "One cpu,cpuacct /fake/sys/fs/cgroup/cpu,cpuacct",
                "One memory /fake/sys/fs/cgroup/memory/session/x",
                "One name=systemd /fake/sys/fs/cgroup/systemd/init",
                "Two  /fake/sys/fs/cgroup/a space/user/y",
            ]
        );
    }

    #[test]
    fn a_container_that_sees_a_part_of_the_hierarchy_stays_in_it() {
        let mounts = "41 31 0:38 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup ro,nsdelegate\n";
        let own = |group: &str| {
            let found = hierarchies(mounts, &format!("0::{group}\n"), Path::new("/"));
            found.first().map(|hierarchy| hierarchy.own.display().to_string()).unwrap()
        };
        assert_eq!(own("/docker/abc/inner"), "/sys/fs/cgroup/inner");
        assert_eq!(own("/elsewhere"), "/sys/fs/cgroup");
        assert_eq!(own("/docker/abc/../../../etc"), "/sys/fs/cgroup/etc");
    }

    #[test]
    fn garbage_is_no_hierarchy() {
        assert_eq!(hierarchies("", "", Path::new("/")), []);
        assert_eq!(hierarchies("a - cgroup2\n - cgroup x\n\u{0}", "::::\n0", Path::new("/")), []);
    }
}
