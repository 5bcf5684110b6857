//! What one sandbox leaves for the next, and images that were tampered with.

use contracts::sandbox::{
    Base, Compute, Image, Recipe, SandboxError, Sandboxes as _, Spec, Use, User,
};
use domain::agent::Tier;
use sandbox::PoolSettings;
use tokio::sync::mpsc;

use crate::{
    fixture::{Fixture, users},
    table::Tally,
};

/// Seen nowhere else.
const CANARY: &str = "canary-7f3a";

/// Everywhere that a process can leave something, written and looked for by the shell.
const LEAVE: &str = "for d in /home/lamp /tmp /dev/shm /workspace /var/tmp; do \
                     echo canary-7f3a > $d/canary-7f3a 2>/dev/null; done; \
                     echo canary-7f3a > /dev/mqueue/canary-7f3a 2>/dev/null; \
                     perl -e 'my $id = shmget(4711, 4096, 01666); shmwrite($id, q(canary-7f3a), 0, 11)'; \
                     (setsid sleep 1000 canary-7f3a >/dev/null 2>&1 &) ; echo left";
const LOOK: &str = "find / -xdev -name 'canary-7f3a*' 2>/dev/null; \
                    find /dev/shm /dev/mqueue /tmp -name 'canary*' 2>/dev/null; \
                    grep -rl canary-7f3a /home /tmp /workspace /dev/shm 2>/dev/null; \
                    grep -l canary /proc/[0-9]*/cmdline 2>/dev/null | grep -v \"/$$/\"; \
                    env | grep canary; tail -n +2 /proc/sysvipc/shm; true";

#[tokio::test(flavor = "multi_thread")]
async fn what_one_leaves_the_next_does_not_find() {
    let pool = PoolSettings { most_of_a_kind: 2, ..PoolSettings::default() };
    let fixture = Fixture::with(pool, &[]).await;
    let mut tally = Tally::default();
    let tier = Tier::Verified;
    let used = fixture.open(tier).await;
    // A script of our own names the canary as well: it is read from its input, not from its arguments.
    let left = fixture.shell(used, LEAVE).await;
    let control = fixture.shell(used, LOOK).await;
    let shown = format!("{left}: {} traces in the same sandbox", control.lines().count());
    tally.check(
        "73 the canary is found where it was left",
        &shown,
        (control.lines().count() >= 4).into(),
    );
    fixture.provider.destroy(used).await.unwrap();
    let mut traces = Vec::new();
    for _ in 0..20 {
        let spec = fixture.spec(tier);
        fixture.provider.open(&spec).await.unwrap();
        let found = fixture.shell(spec.id, LOOK).await;
        if found.contains(CANARY) || found.contains("4711") {
            traces.push(found);
        }
        fixture.provider.destroy(spec.id).await.unwrap();
    }
    tally.check("73 20 sandboxes after it", &format!("{traces:?}"), traces.is_empty().into());
    fresh_members(&fixture, &mut tally).await;
    fixture.end().await;
    tally.finish("leftovers", 6);
}

/// One that waited has no identity, no secret, and no way out: it is as one that was just made.
async fn fresh_members(fixture: &Fixture, tally: &mut Tally) {
    let spec = fixture.spec(Tier::Verified);
    fixture.provider.open(&spec).await.unwrap();
    let environment = fixture.shell(spec.id, "env | cut -d= -f1 | sort | tr '\\n' ' '").await;
    let plain = "HOME LANG PATH PWD USER".split(' ').all(|name| environment.contains(name));
    let secrets = ["TOKEN", "KEY", "SECRET", "PASSWORD", "PROXY"];
    let none = !secrets.iter().any(|word| environment.to_uppercase().contains(word));
    tally.check("75 environment of a claimed member", &environment, (plain && none).into());
    let homes = fixture.shell(spec.id, "ls -A /home/lamp /workspace | wc -l").await;
    tally.check(
        "75 files of a claimed member",
        &homes,
        (homes.parse::<u32>().unwrap_or(99) < 8).into(),
    );
    let devices = fixture.shell(spec.id, "tail -n +3 /proc/net/dev | cut -d: -f1").await;
    tally.check("75 network of a claimed member", &devices, (devices.trim() == "lo").into());
    let routes = fixture.shell(spec.id, "tail -n +2 /proc/net/route | wc -l").await;
    tally.check("75 routes of a claimed member", &routes, (routes == "0").into());
    fixture.provider.destroy(spec.id).await.unwrap();
}

async fn build(fixture: &Fixture, setup: &str) -> Result<Image, SandboxError> {
    let recipe = Recipe {
        base: Base::Host,
        sources: Vec::new(),
        setup: Some(setup.to_owned()),
        compute: Compute { memory_mib: 256, disk_mib: 64, ..Compute::default() },
        network: None,
    };
    let (news, mut heard) = mpsc::channel(8);
    let listening = async { while heard.recv().await.is_some() {} };
    let (built, ()) = tokio::join!(fixture.provider.prepare_image(&recipe, news), listening);
    built
}

#[tokio::test(flavor = "multi_thread")]
async fn images_that_were_tampered_with_are_refused() {
    let fixture = Fixture::new().await;
    let mut tally = Tally::default();
    let image = build(&fixture, "echo golden > /workspace/golden").await.unwrap();
    let name = format!("image:{}", image.key);
    let on_it = |fixture: &Fixture| Spec { image: name.clone(), ..fixture.spec(Tier::Verified) };
    // The control: untouched, it opens, and the setup's file is there.
    let spec = on_it(&fixture);
    fixture.provider.open(&spec).await.unwrap();
    let golden = fixture.shell(spec.id, "cat /workspace/golden").await;
    tally.check("78 an untouched image", &golden, (golden == "golden").into());
    layers_stay_as_they_are(&fixture, &name, &mut tally).await;
    tasks_do_not_become_images(&fixture, &mut tally).await;
    fixture.provider.destroy(spec.id).await.unwrap();

    let manifest = fixture.at.path().join(format!("data/images/{}.json", image.key));
    let whole = std::fs::read(&manifest).unwrap();
    let text = String::from_utf8(whole.clone()).unwrap();
    let mut fixture = fixture;
    for (what, bytes) in [
        ("cut off", whole[..whole.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("another setup", text.replace("golden > ", "silver > ").into_bytes()),
        ("another version", text.replacen("\"version\": 1", "\"version\": 2", 1).into_bytes()),
        (
            "another's key",
            text.replace(image.key.as_str(), &"0".repeat(image.key.as_str().len())).into_bytes(),
        ),
        ("nonsense", vec![0xff; 512]),
    ] {
        assert_ne!(bytes, whole, "{what}");
        std::fs::write(&manifest, &bytes).unwrap();
        // What was checked is remembered: a tampered record is met at the next start.
        fixture = fixture.restart().await;
        let refused = fixture.provider.open(&on_it(&fixture)).await;
        let holds = matches!(refused, Err(SandboxError::Image { .. }));
        tally.check(&format!("78 a record that is {what}"), &format!("{refused:?}"), holds.into());
        let listed = fixture.provider.images().await.unwrap().len();
        tally.check(
            &format!("78 and is listed when {what}"),
            &listed.to_string(),
            (listed == 0).into(),
        );
    }
    std::fs::write(&manifest, &whole).unwrap();
    fixture = fixture.restart().await;
    let again = fixture.provider.open(&on_it(&fixture)).await;
    tally.check("78 the whole record again", &format!("{again:?}"), again.is_ok().into());
    tiers_are_not_lowered(&fixture, &mut tally).await;
    fixture.end().await;
    tally.finish("images", 20);
}

/// What root writes on top of an image is not in the image.
async fn layers_stay_as_they_are(fixture: &Fixture, image: &str, tally: &mut Tally) {
    let spec = Spec { image: image.to_owned(), ..fixture.spec(Tier::Verified) };
    let other = Spec { image: image.to_owned(), ..fixture.spec(Tier::Verified) };
    fixture.provider.open(&spec).await.unwrap();
    for user in users() {
        let change =
            "echo evil > /workspace/golden; rm -f /workspace/golden.x; cat /workspace/golden";
        let own = fixture.run(spec.id, user, &["/bin/sh", "-c", change]).await.unwrap().text();
        tally.check(&format!("45 {user:?} writes over an image"), &own, (own == "evil").into());
    }
    fixture.provider.open(&other).await.unwrap();
    let found = fixture.shell(other.id, "cat /workspace/golden").await;
    tally.check("45 and the next finds the image's", &found, (found == "golden").into());
    for id in [spec.id, other.id] {
        fixture.provider.destroy(id).await.unwrap();
    }
}

/// There is no way from a task's sandbox to an image: only a build makes one, from a recipe.
async fn tasks_do_not_become_images(fixture: &Fixture, tally: &mut Tally) {
    let before = fixture.provider.images().await.unwrap().len();
    let setup = Spec { purpose: Use::Setup, ..fixture.spec(Tier::Verified) };
    let opened = fixture.provider.open(&setup).await;
    if opened.is_ok() {
        fixture.shell(setup.id, "echo evil > /workspace/evil").await;
    }
    let after = fixture.provider.images().await.unwrap().len();
    let shown = format!("opened as a setup: {opened:?}, images before {before}, after {after}");
    tally.check("76 nobody makes an image of his own sandbox", &shown, (before == after).into());
    fixture.provider.destroy(setup.id).await.unwrap();
    // A setup that fails leaves no image, and nothing else.
    let failed = build(fixture, "echo half > /workspace/half; exit 3").await;
    let after = fixture.provider.images().await.unwrap().len();
    let holds = matches!(failed, Err(SandboxError::Setup { .. })) && before == after;
    tally.check("76 a failed setup makes none", &format!("{failed:?}"), holds.into());
}

/// A tier that the host does not have is refused; nobody gets a weaker one instead.
async fn tiers_are_not_lowered(fixture: &Fixture, tally: &mut Tally) {
    let capabilities = fixture.provider.capabilities();
    let missing: Vec<Tier> = capabilities.missing.keys().copied().collect();
    if missing.is_empty() {
        tally.unsupported("79 a missing tier", "this host has all of them");
    }
    for tier in missing {
        let refused = fixture.provider.open(&fixture.spec(tier)).await;
        let holds = matches!(refused, Err(SandboxError::TierMissing { .. }));
        tally.check(&format!("79 {tier} is missing"), &format!("{refused:?}"), holds.into());
    }
    // Each tier has the walls that it promises: ptrace is the difference that a probe can see.
    for (tier, expected) in [(Tier::Verified, "allowed"), (Tier::Standard, "denied EPERM")] {
        if !capabilities.tiers.contains(&tier) {
            continue;
        }
        let id = fixture.open(tier).await;
        let found = fixture.probe(id, User::Agent, &["ptrace", "child"]).await;
        tally.check(&format!("79 {tier} ptrace of a child"), &found, (found == expected).into());
    }
}
