//! The kernel, the processors, the memory and the clock.

use jiff::{Timestamp, civil::date, tz::TimeZone};

use super::{
    finding::{Finding, Topic},
    host::{Host, Kernel, Machine},
};

/// What a sandbox gets when nobody asks for more (promise SB3).
const DEFAULT_SANDBOX_BYTES: u64 = 4 << 30;

/// The first kernel with Landlock; overlay mounts for ordinary users came before it.
const OLDEST_KERNEL: (u32, u32) = (5, 13);

pub(crate) fn examine(host: &Host) -> Vec<Finding> {
    vec![kernel(&host.kernel), processors(&host.machine), memory(&host.machine), clock(host.now)]
}

fn kernel(kernel: &Kernel) -> Finding {
    let Kernel { system, release, architecture } = kernel;
    let measured = format!("{system} {release} on {architecture}");
    if version(release).is_some_and(|version| version >= OLDEST_KERNEL) {
        return Finding::ok(Topic::Kernel, measured);
    }
    let (major, minor) = OLDEST_KERNEL;
    Finding::limited(
        Topic::Kernel,
        measured,
        "Landlock, and overlay mounts without root, may not exist",
        format!("use Linux {major}.{minor} or newer"),
    )
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|character: char| !character.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn processors(machine: &Machine) -> Finding {
    match machine.processors {
        Some(1) => Finding::limited(
            Topic::Processors,
            "1 that lamp may use",
            "one sandbox at a time has a processor of its own, and shares it with lamp",
            "give this computer or container two or more",
        ),
        Some(count) => Finding::ok(Topic::Processors, format!("{count} that lamp may use")),
        None => Finding::limited(
            Topic::Processors,
            "could not be counted",
            "lamp will not know how many sandboxes to run at once",
            "say so in `lamp.yaml`",
        ),
    }
}

fn memory(machine: &Machine) -> Finding {
    let Machine { memory_bytes, available_bytes, memory_limit_bytes, .. } = *machine;
    let (Some(total), Some(available)) = (memory_bytes, available_bytes) else {
        return Finding::limited(
            Topic::Memory,
            "`/proc/meminfo` could not be read",
            "lamp will not know how many sandboxes fit",
            "mount `/proc`",
        );
    };
    let (total, limit) = match memory_limit_bytes {
        Some(limit) if limit < total => (limit, ", by the limit of its control group"),
        Some(_) | None => (total, ""),
    };
    let available = available.min(total);
    let fits = available / DEFAULT_SANDBOX_BYTES;
    let measured = format!("{} of {} available{limit}", bytes(available), bytes(total));
    match fits {
        0 => Finding::limited(
            Topic::Memory,
            measured,
            "a sandbox of the default size, 4 GiB, does not fit now",
            "free memory, or ask for smaller sandboxes: `compute: { memory: 1GiB }`",
        ),
        1 => Finding::ok(Topic::Memory, format!("{measured}: room for 1 default sandbox")),
        fits => {
            Finding::ok(Topic::Memory, format!("{measured}: room for {fits} default sandboxes"))
        }
    }
}

fn clock(now: Timestamp) -> Finding {
    let day = now.to_zoned(TimeZone::UTC).date();
    let measured = now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
    // Older than this program, or later than it will be used.
    if (date(2026, 1, 1)..date(2100, 1, 1)).contains(&day) {
        return Finding::ok(Topic::Clock, measured);
    }
    Finding::limited(
        Topic::Clock,
        measured,
        "TLS certificates look invalid, tokens look expired, and timeouts are wrong",
        "set the clock, and keep it by NTP",
    )
}

/// `12.3 GiB`, as people say it.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = UNITS.into_iter().find(|(size, _)| count >= *size);
    let Some((size, name)) = unit else { return format!("{count} B") };
    format!("{}.{} {name}", count / size, count % size * 10 / size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_as_people_say_them() {
        let sizes = [0, 1023, 1024, 1536, 4 << 30, (3 << 40) + (1 << 39), u64::MAX];
        let said = sizes.map(bytes).join(", ");
        assert_eq!(said, "0 B, 1023 B, 1.0 KiB, 1.5 KiB, 4.0 GiB, 3.5 TiB, 16777215.9 TiB");
    }

    #[test]
    fn releases_of_all_kinds_have_a_version() {
        let table = [
            ("6.18.44-fc-v445", Some((6, 18))),
            ("5.13.0", Some((5, 13))),
            ("4.19-generic", Some((4, 19))),
            ("6", None),
            ("", None),
            ("next", None),
        ];
        for (release, expected) in table {
            assert_eq!(version(release), expected, "{release}");
        }
    }

    #[test]
    fn a_clock_that_was_never_set_is_noticed() {
        let finding = clock(Timestamp::UNIX_EPOCH);
        assert_eq!(
            (finding.state.name(), finding.measured.as_str()),
            ("limited", "1970-01-01 00:00:00 UTC")
        );
    }
}
