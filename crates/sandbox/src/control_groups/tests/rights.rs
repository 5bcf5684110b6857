//! Somebody who was given nothing.

use std::{fs, path::Path};

use super::ROOMY;
use crate::control_groups::{Ability, ControlGroups, GroupError};

/// Run as root, it runs itself again as nobody.
#[test]
fn an_ordinary_user_without_rights_gets_reasons_and_groups_without_directories() {
    const NAME: &str = "control_groups::tests::rights::an_ordinary_user_without_rights_gets_reasons_and_groups_without_directories";
    if !testkit::nobody::has_shown(NAME).unwrap() {
        without_rights();
    }
}

fn without_rights() {
    let read = |path| fs::read_to_string(path).unwrap();
    let groups = ControlGroups::find(
        &read("/proc/self/mountinfo"),
        &read("/proc/self/cgroup"),
        Path::new("/"),
        "lamplighter",
    );
    let abilities = groups.abilities();
    for ability in [
        &abilities.cpu,
        &abilities.memory,
        &abilities.pids,
        &abilities.freeze,
        &abilities.kill,
        &abilities.io,
    ] {
        let Ability::No(reason) = ability else { panic!("{abilities:?}") };
        assert!(reason.contains("/sys/fs/cgroup"), "{reason}");
    }
    assert_eq!(groups.weaker().len(), 6);

    let group = groups.create("any", &ROOMY).unwrap();
    assert!(group.directories().is_empty() && group.is_empty());
    assert_eq!(group.reading(), crate::control_groups::Counters::default());
    assert!(matches!(group.freeze(), Err(GroupError::Impossible(_))));
    assert!(matches!(group.kill(), Err(GroupError::Impossible(_))));
    group.remove().unwrap();
    // Where there are no control groups, a group is a name only: a server that comes back finds its sandboxes by it.
    assert!(groups.adopt("any").is_some());
}

#[test]
fn a_host_without_control_groups_says_so() {
    let groups = ControlGroups::find("", "", Path::new("/"), "lamplighter");
    insta::assert_snapshot!(groups.weaker().first().unwrap(), @"the CPU time of a sandbox is not limited: no unified hierarchy of control groups is mounted; run `lamp up` as root, or as a systemd service with `Delegate=yes`, on a kernel from 5.14 on");
}
