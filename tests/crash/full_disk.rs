//! A disk that fills up under a running engine: refused with a reason, never corrupted (RE2).
//!
//! The database lies on a file system of some megabytes, in a mount namespace that goes with the test.

use std::process::Command;

#[test]
fn an_engine_on_a_full_disk_goes_on_when_there_is_room_again() {
    let inside = Command::new("unshare")
        .args(["--mount", "--map-root-user", "--propagation=private", "sh", "-ec"])
        .arg("mount -t tmpfs -o size=48m lamp /mnt && exec \"$0\" /mnt")
        .arg(env!("CARGO_BIN_EXE_small-disk"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&inside.stdout);
    let errors = String::from_utf8_lossy(&inside.stderr);
    assert!(inside.status.success(), "{said}\n{errors}");
    assert_eq!(said.trim(), "refused while full, went on with room: 0 lost, 0 doubled, 0 orphans");
}
