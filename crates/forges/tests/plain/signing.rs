//! Commits that are signed with a key of the house.

use std::{fs, process::Command};

use contracts::forge::Forges as _;

use crate::fixture::{Fixture, git_in, key};

#[tokio::test]
async fn a_commit_is_signed_with_the_key_that_is_named() {
    let fixture = Fixture::new();
    let path = fixture.path("signing");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", "lamp", "-f"])
        .arg(&path)
        .status();
    assert!(made.unwrap().success(), "ssh-keygen makes a key");
    let public = fs::read_to_string(path.with_extension("pub")).unwrap();
    let signers = fixture.path("signers");
    fs::write(&signers, format!("lamp@example.com {public}")).unwrap();

    let mut forge = fixture.forge();
    forge.decides(|custom| custom.signing_key = Some(path.clone()));
    fixture.change("src/main.rs", "fn main() { run() }\n");
    let taken = forge.take_change(key(1), &fixture.taking()).await.unwrap();
    let mirror = forge.mirror_path().to_owned();
    let allowed = format!("gpg.ssh.allowedSignersFile={}", signers.display());
    let shown =
        git_in(&mirror, &["-c", &allowed, "show", "-s", "--format=%G? %GS", taken.commit.as_str()]);
    assert_eq!(shown, "G lamp@example.com", "good, and by whom");

    forge.decides(|custom| custom.signing_key = None);
    let plain = forge.take_change(key(2), &fixture.taking()).await.unwrap();
    let shown = git_in(&mirror, &["show", "-s", "--format=%G?", plain.commit.as_str()]);
    assert_eq!(shown, "N", "nobody asked for a signature");
}
