//! What a sandbox is built from: namespaces, overlay mounts, seccomp, Landlock,
//! control groups, virtualisation.

use terminal::data_directory::Account;

use super::{
    attempt::{Attempt, Outcome},
    finding::{Finding, Topic},
    host::{Access, Cgroups, Hierarchies, Host, Seccomp, UserNamespaceSettings, Virtualisation},
};

const NO_TIER: &str = "no tier is available";

pub(crate) fn examine(host: &Host) -> Vec<Finding> {
    vec![
        user_namespaces(host),
        namespaces(host),
        overlay(host),
        seccomp(&host.seccomp),
        landlock(host),
        limits(&host.cgroups, host.account),
        virtualisation(host.virtualisation),
    ]
}

/// Why `attempt` was refused; nothing if it worked.
fn refusal(host: &Host, attempt: Attempt) -> Option<&str> {
    match host.attempts.get(&attempt) {
        Some(Outcome::Worked { .. }) => None,
        Some(Outcome::Refused { why } | Outcome::NotTried { why }) => Some(why),
        None => Some("was not tried"),
    }
}

fn note(host: &Host, attempt: Attempt) -> &str {
    match host.attempts.get(&attempt) {
        Some(Outcome::Worked { note }) => note,
        Some(Outcome::Refused { .. } | Outcome::NotTried { .. }) | None => "",
    }
}

/// `usual`, unless the attempt never came so far that it could help.
fn remedy<'a>(host: &Host, attempt: Attempt, usual: &'a str) -> &'a str {
    match host.attempts.get(&attempt) {
        Some(Outcome::Worked { .. } | Outcome::Refused { .. }) => usual,
        Some(Outcome::NotTried { .. }) | None => {
            "mount `/proc`: lamp starts itself from there to try this"
        }
    }
}

fn user_namespaces(host: &Host) -> Finding {
    let topic = Topic::UserNamespaces;
    match refusal(host, Attempt::UserNamespace) {
        None => Finding::ok(topic, note(host, Attempt::UserNamespace)),
        Some(why) => {
            let remedy = remedy(host, Attempt::UserNamespace, allow(&host.user_namespaces));
            Finding::missing(topic, why, NO_TIER, remedy)
        }
    }
}

/// How to turn user namespaces on, by the switch that is off.
fn allow(settings: &UserNamespaceSettings) -> &'static str {
    if settings.most == Some(0) {
        return "`sysctl user.max_user_namespaces=15000`";
    }
    if settings.unprivileged_clone == Some(0) {
        return "`sysctl kernel.unprivileged_userns_clone=1`, or run lamp as root";
    }
    if settings.apparmor_restricts == Some(1) {
        return "allow `userns` to lamp in an AppArmor profile, or run lamp as root";
    }
    "if this is a container, let it create namespaces (its seccomp profile or capabilities forbid it)"
}

fn namespaces(host: &Host) -> Finding {
    const REQUIRED: [Attempt; 6] = [
        Attempt::MountNamespace,
        Attempt::PidNamespace,
        Attempt::NetworkNamespace,
        Attempt::IpcNamespace,
        Attempt::UtsNamespace,
        Attempt::CgroupNamespace,
    ];
    let topic = Topic::Namespaces;
    let refused: Vec<(Attempt, &str)> = REQUIRED
        .into_iter()
        .filter_map(|attempt| Some((attempt, refusal(host, attempt)?)))
        .collect();
    let worked = REQUIRED.map(Attempt::name).join(", ");
    if let Some((_, why)) = refused.first() {
        let names: Vec<&str> = refused.iter().map(|(attempt, _)| attempt.name()).collect();
        let measured = format!("refused: {} ({why})", names.join(", "));
        let remedy = "mend `user namespaces` above, or run lamp as root on the host itself";
        return Finding::missing(topic, measured, NO_TIER, remedy);
    }
    let how = note(host, Attempt::MountNamespace);
    if let Some(why) = refusal(host, Attempt::TimeNamespace) {
        return Finding::limited(
            topic,
            format!("{worked}: {how}; not time ({why})"),
            "a sandbox sees how long the host has been up",
            "use a kernel with time namespaces (Linux 5.6)",
        );
    }
    Finding::ok(topic, format!("{worked}, time: {how}"))
}

fn overlay(host: &Host) -> Finding {
    let topic = Topic::Overlay;
    match refusal(host, Attempt::OverlayMount) {
        None => Finding::ok(topic, format!("mounted one, {}", note(host, Attempt::OverlayMount))),
        Some(why) => {
            let remedy = match refusal(host, Attempt::MountNamespace) {
                Some(_) => "mend `namespaces` above",
                None => "load the module `overlay`; without root, use Linux 5.11 or newer",
            };
            let follows = "no tier is available: images and workspaces are layers";
            Finding::missing(topic, why, follows, remedy)
        }
    }
}

fn seccomp(seccomp: &Seccomp) -> Finding {
    let topic = Topic::Seccomp;
    let Some(actions) = &seccomp.actions else {
        return Finding::missing(
            topic,
            "`/proc/sys/kernel/seccomp` does not exist",
            NO_TIER,
            "use a kernel with `CONFIG_SECCOMP_FILTER`, and mount `/proc`",
        );
    };
    let holds = match seccomp.filters {
        Some(1) => "; 1 filter already holds lamp itself".to_owned(),
        Some(count @ 2..) => format!("; {count} filters already hold lamp itself"),
        Some(0) | None => String::new(),
    };
    let wanted = ["kill_process", "errno"];
    let missing: Vec<&str> =
        wanted.into_iter().filter(|name| !actions.iter().any(|it| it == name)).collect();
    if missing.is_empty() {
        return Finding::ok(topic, format!("filters, {} actions{holds}", actions.len()));
    }
    Finding::missing(
        topic,
        format!("filters, but not the action {}{holds}", missing.join(", ")),
        NO_TIER,
        "use Linux 4.14 or newer",
    )
}

fn landlock(host: &Host) -> Finding {
    let topic = Topic::Landlock;
    if let Some(why) = refusal(host, Attempt::Landlock) {
        return Finding::missing(
            topic,
            why,
            "tier `standard` is not available",
            remedy(
                host,
                Attempt::Landlock,
                "boot with `landlock` in the list of `lsm=` (Linux 5.13 or newer)",
            ),
        );
    }
    let version = note(host, Attempt::Landlock);
    let measured = format!("version {version}, restricted a process");
    // Version 3 closed the gap that a file could be emptied without a right to write.
    if version.parse().is_ok_and(|version: u32| version >= 3) {
        return Finding::ok(topic, measured);
    }
    Finding::limited(
        topic,
        measured,
        "truncating a file is not controlled",
        "use Linux 6.2 or newer",
    )
}

fn limits(cgroups: &Cgroups, account: Account) -> Finding {
    const WANTED: [&str; 4] = ["memory", "pids", "cpu", "freezer"];
    let topic = Topic::Limits;
    let layout = match cgroups.hierarchies {
        Hierarchies::None => "no control groups are mounted",
        Hierarchies::V1 => "control groups v1",
        Hierarchies::Hybrid => "control groups v1 and v2 (hybrid)",
        Hierarchies::V2 => "control groups v2",
    };
    let writable = |name: &&str| {
        let mut all = cgroups.controllers.iter();
        all.any(|it| it.name == **name && it.access == Access::Writable)
    };
    let (can, cannot): (Vec<&str>, Vec<&str>) = WANTED.into_iter().partition(|it| writable(it));
    if cannot.is_empty() {
        return Finding::ok(topic, format!("{layout}: {}", can.join(", ")));
    }
    let measured = match cgroups.hierarchies {
        Hierarchies::None => layout.to_owned(),
        Hierarchies::V1 | Hierarchies::Hybrid | Hierarchies::V2 if can.is_empty() => {
            format!("{layout}, but lamp may use none of {}", cannot.join(", "))
        }
        Hierarchies::V1 | Hierarchies::Hybrid | Hierarchies::V2 => {
            format!("{layout}: {}; not {}", can.join(", "), cannot.join(", "))
        }
    };
    let remedy = match (cgroups.hierarchies, account) {
        (Hierarchies::None, _) => "mount them: `mount -t cgroup2 none /sys/fs/cgroup`",
        (Hierarchies::V2, Account::Ordinary { .. }) => {
            "have systemd delegate them: start lamp by `systemd-run --user --scope -p Delegate=yes`"
        }
        (Hierarchies::V1 | Hierarchies::Hybrid, Account::Ordinary { .. }) => {
            "run lamp as root: v1 has no safe delegation; or boot with `systemd.unified_cgroup_hierarchy=1`"
        }
        (Hierarchies::V1 | Hierarchies::Hybrid | Hierarchies::V2, Account::Root) => {
            "mount the control groups writable; in a container, give it its own"
        }
    };
    if cannot.contains(&"memory") || cannot.contains(&"pids") {
        let names = cannot.join(", ");
        let follows = format!(
            "cannot be limited: {names}; tiers `standard` and `untrusted` are not available"
        );
        return Finding::missing(topic, measured, follows, remedy);
    }
    let follows = format!("a sandbox is not held back in: {}", cannot.join(", "));
    Finding::limited(topic, measured, follows, remedy)
}

fn virtualisation(virtualisation: Virtualisation) -> Finding {
    let topic = Topic::Virtualisation;
    let follows = "no microVMs; tier `untrusted` needs `runsc` here";
    match virtualisation {
        Virtualisation::Usable => {
            Finding::ok(topic, "`/dev/kvm` opens, and the processor supports it")
        }
        Virtualisation::DeviceOpens => Finding::ok(topic, "`/dev/kvm` opens"),
        Virtualisation::WithoutProcessor => Finding::limited(
            topic,
            "`/dev/kvm` opens, but the processor shows neither `vmx` nor `svm`",
            "guests may be emulated, far too slowly; tier `untrusted` needs `runsc` here",
            "turn on nested virtualisation, or use another computer",
        ),
        Virtualisation::DeviceRefused => Finding::missing(
            topic,
            "`/dev/kvm` is there, but lamp may not open it",
            follows,
            "add this user to the group `kvm`",
        ),
        Virtualisation::NoDevice => Finding::missing(
            topic,
            "there is no `/dev/kvm`",
            follows,
            "turn on virtualisation in the firmware, or nested virtualisation in a virtual machine",
        ),
    }
}
