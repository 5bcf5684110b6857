//! Reads and tries what this computer can do, and judges nothing.
//!
//! A fact that cannot be read is absent; only the judges know what that means.

mod cgroups;
mod configuration;
mod data;
mod programs;

use std::path::Path;

use jiff::Timestamp;
use terminal::{
    data_directory::{Account, DataFlag},
    environment::Environment,
};

use super::{
    attempt::Attempt,
    host::{Host, Kernel, Machine, Seccomp, UserNamespaceSettings, Virtualisation},
    mounts,
};

pub fn measure(
    data: &DataFlag,
    config_file: Option<&Path>,
    environment: &Environment,
    account: Account,
) -> anyhow::Result<Host> {
    let mounts = mounts::parse(&read("/proc/self/mountinfo").unwrap_or_default());
    let groups = cgroups::Groups::find(&mounts, &read("/proc/self/cgroup").unwrap_or_default());
    let configured = config_file.map(configuration::measure);
    let from_file = configured.as_ref().and_then(|it| it.data.as_deref());
    let directory = data.directory(environment, from_file, account)?;
    Ok(Host {
        account,
        kernel: kernel(),
        machine: machine(groups.memory_limit_bytes()),
        now: Timestamp::now(),
        attempts: Attempt::ALL.into_iter().map(|attempt| (attempt, attempt.make())).collect(),
        user_namespaces: user_namespaces(),
        seccomp: seccomp(),
        cgroups: groups.measure(),
        virtualisation: virtualisation(),
        data: data::measure(&directory, &mounts),
        configuration: configured.map(|it| it.configuration),
        programs: programs::measure(environment.path.as_deref()),
        toolchains: Vec::new(),
    })
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    fs_err::read_to_string(path).ok()
}

fn read_number(path: &str) -> Option<u64> {
    read(path)?.trim().parse().ok()
}

fn kernel() -> Kernel {
    let uname = rustix::system::uname();
    Kernel {
        system: uname.sysname().to_string_lossy().into_owned(),
        release: uname.release().to_string_lossy().into_owned(),
        architecture: uname.machine().to_string_lossy().into_owned(),
    }
}

fn machine(memory_limit_bytes: Option<u64>) -> Machine {
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    Machine {
        processors: std::thread::available_parallelism().ok().map(usize::from),
        memory_bytes: kibibytes(&meminfo, "MemTotal"),
        available_bytes: kibibytes(&meminfo, "MemAvailable"),
        memory_limit_bytes,
    }
}

/// A line of `/proc/meminfo`: `MemTotal:       24682416 kB`.
fn kibibytes(meminfo: &str, key: &str) -> Option<u64> {
    let value = field(meminfo, key)?;
    let count: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
    count.checked_mul(1024)
}

/// The value of the line `key: value`; some files of `/proc` put a tab before the colon.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

fn user_namespaces() -> UserNamespaceSettings {
    UserNamespaceSettings {
        most: read_number("/proc/sys/user/max_user_namespaces"),
        unprivileged_clone: read_number("/proc/sys/kernel/unprivileged_userns_clone"),
        apparmor_restricts: read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
    }
}

fn seccomp() -> Seccomp {
    let actions = read("/proc/sys/kernel/seccomp/actions_avail");
    let status = read("/proc/self/status").unwrap_or_default();
    Seccomp {
        actions: actions.map(|text| text.split_whitespace().map(str::to_owned).collect()),
        filters: field(&status, "Seccomp_filters").and_then(|count| count.parse().ok()),
    }
}

fn virtualisation() -> Virtualisation {
    let device = Path::new("/dev/kvm");
    if !device.exists() {
        return Virtualisation::NoDevice;
    }
    if std::fs::OpenOptions::new().read(true).write(true).open(device).is_err() {
        return Virtualisation::DeviceRefused;
    }
    let Some(processor) = read("/proc/cpuinfo") else { return Virtualisation::WithoutProcessor };
    match field(&processor, "flags") {
        None => Virtualisation::DeviceOpens,
        Some(flags) if flags.split(' ').any(|flag| flag == "vmx" || flag == "svm") => {
            Virtualisation::Usable
        }
        Some(_) => Virtualisation::WithoutProcessor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let text = "MemTotal:       24682416 kB\nMemFree: 1 kB\nHugePages_Total:   0\n";
        assert_eq!(kibibytes(text, "MemTotal"), Some(24_682_416 * 1024));
        assert_eq!(kibibytes(text, "HugePages_Total"), None);
        assert_eq!(kibibytes(text, "Mem"), None);
        assert_eq!(kibibytes("", "MemTotal"), None);
    }
}
