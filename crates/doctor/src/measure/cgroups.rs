//! Finds the control groups around this process, and whether it may add its own.
//!
//! Controllers live in v1 hierarchies (one mount each), in the v2 hierarchy, or,
//! on hybrid hosts, some here and some there.

use std::path::{Path, PathBuf};

use rustix::fs::Access as Permission;

use super::super::{
    host::{Access, Cgroups, Controller, Hierarchies},
    mounts::Mount,
};
use super::read;

/// The directories of the groups that this process is in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Groups {
    unified: Option<PathBuf>,
    /// `(controller, directory)`
    legacy: Vec<(String, PathBuf)>,
}

impl Groups {
    /// `own` is `/proc/self/cgroup`: `4:memory:/some/group`, and `0::/some/group` for v2.
    pub(crate) fn find(mounts: &[Mount], own: &str) -> Self {
        let own: Vec<(&str, &str)> =
            own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).collect();
        let mut groups = Self { unified: None, legacy: Vec::new() };
        for mount in mounts {
            match mount.file_system.as_str() {
                "cgroup2" => {
                    let path = own.iter().find(|(names, _)| names.is_empty());
                    groups.unified = path.map(|(_, path)| directory(mount, path));
                }
                "cgroup" => {
                    for (names, path) in &own {
                        let named = names.split(',').filter(|name| !name.is_empty());
                        let here = named.filter(|name| mount.options.iter().any(|it| it == name));
                        let found = here.map(|name| (name.to_owned(), directory(mount, path)));
                        groups.legacy.extend(found);
                    }
                }
                _other => {}
            }
        }
        groups
    }

    pub(crate) fn measure(&self) -> Cgroups {
        let has_controllers = self.legacy.iter().any(|(name, _)| !name.contains('='));
        let hierarchies = match (&self.unified, has_controllers) {
            (None, false) => Hierarchies::None,
            (None, true) => Hierarchies::V1,
            (Some(_), true) => Hierarchies::Hybrid,
            (Some(_), false) => Hierarchies::V2,
        };
        let mut controllers: Vec<Controller> = self
            .legacy
            .iter()
            .map(|(name, directory)| {
                let access = access(&[directory.clone(), directory.join("cgroup.procs")]);
                Controller { name: name.clone(), access }
            })
            .collect();
        if let Some(directory) = &self.unified {
            let access = access(&[
                directory.clone(),
                directory.join("cgroup.procs"),
                directory.join("cgroup.subtree_control"),
            ]);
            let names = read(directory.join("cgroup.controllers")).unwrap_or_default();
            // Freezing needs no controller in v2.
            let names = names.split_whitespace().chain(["freezer"]);
            controllers.extend(names.map(|name| Controller { name: name.to_owned(), access }));
        }
        Cgroups { hierarchies, controllers }
    }

    /// The tightest memory limit on the way from this process's group to the top of the mount.
    pub(crate) fn memory_limit_bytes(&self) -> Option<u64> {
        let legacy = self.legacy.iter().find(|(name, _)| name == "memory");
        let legacy = legacy.map(|(_, directory)| (directory, "memory.limit_in_bytes"));
        let unified = self.unified.as_ref().map(|directory| (directory, "memory.max"));
        [legacy, unified]
            .into_iter()
            .flatten()
            .flat_map(|(directory, file)| directory.ancestors().map(move |it| it.join(file)))
            .filter_map(|file| read(file)?.trim().parse().ok())
            .min()
    }
}

/// The group's directory below its mount. In a container the group's path may
/// name something outside; then the mount itself is all there is to see.
fn directory(mount: &Mount, path: &str) -> PathBuf {
    let path = Path::new(path);
    let below = path.strip_prefix(&mount.root).or_else(|_| path.strip_prefix("/"));
    let directory = below.map_or_else(|_| mount.point.clone(), |below| mount.point.join(below));
    if directory.is_dir() { directory } else { mount.point.clone() }
}

fn access(paths: &[PathBuf]) -> Access {
    let may_write = |path: &PathBuf| rustix::fs::access(path, Permission::WRITE_OK).is_ok();
    if paths.iter().all(may_write) { Access::Writable } else { Access::ReadOnly }
}

#[cfg(test)]
mod tests {
    use super::super::super::mounts;
    use super::*;

    fn story(mountinfo: &str, own: &str) -> String {
        let groups = Groups::find(&mounts::parse(mountinfo), own);
        let found = groups.measure();
        let legacy: Vec<String> =
            groups.legacy.iter().map(|(name, at)| format!("{name} in {}", at.display())).collect();
        format!("{:?}\nv2 {:?}\n{}", found.hierarchies, groups.unified, legacy.join("\n"))
    }

    #[test]
    fn a_hybrid_host_has_its_controllers_in_v1() {
        let mountinfo = "\
1 0 0:1 / /nowhere/cpu rw - cgroup cgroup rw,cpu,cpuacct
2 0 0:2 / /nowhere/memory rw - cgroup cgroup rw,memory
3 0 0:3 / /nowhere/systemd rw - cgroup cgroup rw,name=systemd
4 0 0:4 / /nowhere/unified rw - cgroup2 cgroup2 rw
";
        let own = "4:memory:/a/b\n3:name=systemd:/\n1:cpu,cpuacct:/\n0::/\n";
        insta::assert_snapshot!(story(mountinfo, own), @r#"
        Hybrid
        v2 Some("/nowhere/unified")
        cpu in /nowhere/cpu
        cpuacct in /nowhere/cpu
        memory in /nowhere/memory
        name=systemd in /nowhere/systemd
        "#);
    }

    #[test]
    fn a_named_hierarchy_alone_does_not_make_a_host_hybrid() {
        let mountinfo = "\
1 0 0:1 / /nowhere rw - cgroup2 cgroup2 rw
2 0 0:2 / /nowhere/systemd rw - cgroup cgroup rw,name=systemd
";
        let own = "1:name=systemd:/\n0::/user.slice\n";
        insta::assert_snapshot!(story(mountinfo, own), @r#"
        V2
        v2 Some("/nowhere")
        name=systemd in /nowhere/systemd
        "#);
    }

    #[test]
    fn nothing_mounted_is_nothing_found() {
        insta::assert_snapshot!(story("", "0::/\n"), @r"
        None
        v2 None
        ");
    }

    #[test]
    fn the_tightest_limit_above_counts() {
        let mount = tempfile::tempdir().unwrap();
        let group = mount.path().join("outer/inner");
        fs_err::create_dir_all(&group).unwrap();
        fs_err::write(group.join("memory.max"), "max\n").unwrap();
        fs_err::write(mount.path().join("outer/memory.max"), "1073741824\n").unwrap();
        let groups = Groups { unified: Some(group), legacy: Vec::new() };
        assert_eq!(groups.memory_limit_bytes(), Some(1 << 30));
    }
}
