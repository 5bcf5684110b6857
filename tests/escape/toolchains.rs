//! Toolchains of the host that a sandbox may see: what one user of the host hides from another stays hidden.

use std::os::unix::fs::PermissionsExt as _;

use sandbox::PoolSettings;
use unsupported::unsupported;

use crate::{
    fixture::{Fixture, is_root, users},
    table::Tally,
};

#[tokio::test(flavor = "multi_thread")]
async fn toolchains_keep_their_owners_secrets() {
    // Toolchains are not taken from where every sandbox has something of its own.
    let Ok(tools) = tempfile::Builder::new().prefix("toolchain").tempdir_in("/srv") else {
        unsupported!("nothing can be put into `/srv` here");
    };
    std::fs::set_permissions(tools.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    for (name, mode, owner) in
        [("open", 0o644, 0), ("of-root", 0o600, 0), ("of-a-user", 0o600, 1_000)]
    {
        let path = tools.path().join(name);
        std::fs::write(&path, "token").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        if is_root() {
            std::os::unix::fs::chown(&path, Some(owner), Some(owner)).unwrap();
        }
    }
    let no_pool = PoolSettings { most_of_a_kind: 0, ..PoolSettings::default() };
    let fixture = Fixture::with(no_pool, &[tools.path().to_owned()]).await;
    let mut tally = Tally::default();
    for tier in fixture.tiers() {
        let id = fixture.open(tier).await;
        for user in users() {
            for (name, expected) in [
                ("open", "value token"),
                ("of-root", "denied EACCES"),
                ("of-a-user", "denied EACCES"),
            ] {
                let path = tools.path().join(name).display().to_string();
                let found = fixture.probe(id, user, &["read", &path]).await;
                let what = format!("45 {tier} {user:?} a toolchain's file `{name}`");
                if is_root() || name == "open" {
                    tally.check(&what, &found, (found == expected).into());
                } else {
                    tally.unsupported(&what, "the agent is its owner here");
                }
            }
        }
    }
    fixture.end().await;
    tally.finish("toolchains", 12);
}
