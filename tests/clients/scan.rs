//! Looks for a value everywhere it could have been left: in processes, in files, in what was said; and in every spelling that is usual.
//!
//! It looks from outside, as root: a value that is looked for inside would be inside.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs::File,
    io::Write as _,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE},
};
use serde_json::Value;
use tests::internet::{House, Internet};

/// Where a value was found: the kind of place, and which.
pub(crate) type Found = BTreeMap<&'static str, BTreeSet<String>>;

/// The kinds of places, each of which the control must find something in.
pub(crate) const KINDS: [&str; 8] = [
    "environment",
    "arguments",
    "memory",
    "files inside",
    "files of the server",
    "disk",
    "what the server said",
    "core files",
];

/// The disk of all sandboxes, in a server's directory.
const DISK: &str = "data/sandboxes/disks/pool.btrfs";

/// What is looked for, in a file of patterns.
pub(crate) struct Needles {
    file: tempfile::NamedTempFile,
    all: Vec<Vec<u8>>,
}

impl Needles {
    pub(crate) fn of(value: &str) -> Self {
        let mut all: Vec<Vec<u8>> = spellings(value).into_iter().map(String::into_bytes).collect();
        all.sort();
        all.dedup();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&all.join(&b'\n')).unwrap();
        Self { file, all }
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        self.all.iter().any(|one| bytes.windows(one.len()).any(|window| window == one))
    }

    fn path(&self) -> &Path {
        self.file.path()
    }
}

/// As it is, in base64 wherever it begins within other bytes, for addresses, and in hexadecimal.
pub(crate) fn spellings(value: &str) -> Vec<String> {
    let mut all = vec![value.to_owned()];
    for lead in 0..3 {
        let bytes = [&vec![b'x'; lead], value.as_bytes()].concat();
        for text in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
            // The characters at both ends have bits of the neighbours.
            let text = text.trim_end_matches('=');
            let start = (lead * 8).div_ceil(6);
            let whole = (bytes.len() * 8 / 6).min(text.len());
            all.push(text[start..whole].to_owned());
        }
    }
    let mut percent = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            percent.push(char::from(byte));
        } else {
            let _ = write!(percent, "%{byte:02X}");
        }
    }
    let lower = hexadecimal(value);
    let upper = lower.to_ascii_uppercase();
    all.extend([lower, upper, percent]);
    all
}

pub(crate) fn hexadecimal(value: &str) -> String {
    let digit = |number: u8| char::from_digit(u32::from(number), 16).unwrap();
    value.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Looks everywhere. `said` is what the server has said so far.
pub(crate) fn everywhere(
    internet: &Internet,
    house: &House<'_>,
    needles: &Needles,
    said: &[String],
) -> Found {
    let mut found: Found = KINDS.into_iter().map(|kind| (kind, BTreeSet::new())).collect();
    let mut add = |kind, place: String| found.entry(kind).or_default().insert(place);
    let inside = inside(house);
    for pid in &inside {
        for (kind, file) in [("environment", "environ"), ("arguments", "cmdline")] {
            if needles.is_in(&std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default()) {
                add(kind, format!("process {pid}"));
            }
        }
        if in_memory(*pid, needles) {
            add("memory", format!("process {pid}"));
        }
    }
    // One process of each sandbox sees all of its files; what the host shows it read-only is the host's.
    let roots: BTreeMap<_, _> =
        inside.iter().filter_map(|pid| Some((mounts_of(*pid)?, *pid))).collect();
    for pid in roots.values() {
        let places = [
            "etc",
            "home",
            "root",
            "tmp",
            "var",
            "run",
            "srv",
            "opt",
            "workspace",
            "dev/shm",
            ".lamp",
        ];
        let paths: Vec<PathBuf> =
            places.iter().map(|it| PathBuf::from(format!("/proc/{pid}/root/{it}"))).collect();
        for place in in_files(Command::new("grep"), &paths, needles) {
            add("files inside", place);
        }
    }
    let own = ["data", "run"].map(|name| house.path().join(name));
    for place in in_files(internet.in_house("grep"), &own, needles) {
        add("files of the server", place);
    }
    // Only this disk is written out: others have much to write while tests run.
    let disks = house.path().join(DISK).with_file_name("");
    let mounted = std::fs::read_dir(disks).into_iter().flatten().flatten().map(|it| it.path());
    let written = internet.in_house("sync").arg("-f").args(mounted).status().unwrap();
    assert!(written.success());
    if in_disk(&house.path().join(DISK), needles) {
        add("disk", DISK.to_owned());
    }
    for line in said.iter().filter(|line| needles.is_in(line.as_bytes())) {
        add("what the server said", line.clone());
    }
    for place in in_files(Command::new("grep"), &cores(house), needles) {
        add("core files", place);
    }
    found
}

/// The processes that are in a sandbox of this house: those that share the numbers of its first.
fn inside(house: &House<'_>) -> Vec<u32> {
    let namespace = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let records = std::fs::read_dir(house.path().join("data/sandboxes/records")).unwrap().flatten();
    let first = records.filter_map(|record| {
        let record: Value = serde_json::from_slice(&std::fs::read(record.path()).ok()?).ok()?;
        u32::try_from(record.pointer("/body/pid")?.as_u64()?).ok()
    });
    let own: BTreeSet<_> = first.filter_map(namespace).collect();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| namespace(*pid).is_some_and(|it| own.contains(&it))).collect()
}

fn mounts_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok()
}

/// Every page that the process can read.
fn in_memory(pid: u32, needles: &Needles) -> bool {
    let Ok(maps) = std::fs::read_to_string(format!("/proc/{pid}/maps")) else { return false };
    let Ok(memory) = File::open(format!("/proc/{pid}/mem")) else { return false };
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
    let ranges = maps.lines().filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        // What is not writable is a file that is looked at as one.
        rest.starts_with("rw").then(|| (number(start), number(end)))
    });
    in_ranges(&memory, ranges, needles)
}

/// Without btrfs each sandbox has a directory, which is looked at as one.
pub(crate) fn has_disk(house: &House<'_>) -> bool {
    house.path().join(DISK).is_file()
}

/// The disk of all sandboxes as it is, with what was deleted from it. It is mostly empty.
fn in_disk(path: &Path, needles: &Needles) -> bool {
    let Ok(disk) = File::open(path) else { return false };
    let end = disk.metadata().unwrap().len();
    in_ranges(&disk, std::iter::once((0, end)), needles)
}

fn in_ranges(file: &File, ranges: impl Iterator<Item = (u64, u64)>, needles: &Needles) -> bool {
    let mut command = grep(Command::new("grep"), needles);
    let mut looking =
        command.arg("--quiet").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut input = looking.stdin.take().unwrap();
    let (mut bytes, nothing) = (vec![0; 1 << 20], vec![0; 1 << 20]);
    'looking: for (mut at, end) in ranges {
        while at < end {
            let wanted = usize::try_from(end - at).unwrap().min(bytes.len());
            let Ok(length @ 1..) = file.read_at(&mut bytes[..wanted], at) else { break };
            at += length as u64;
            let is_empty = bytes[..length] == nothing[..length];
            // One that has found something stops listening.
            if !is_empty && input.write_all(&bytes[..length]).is_err() {
                break 'looking;
            }
        }
    }
    drop(input);
    looking.wait().unwrap().success()
}

fn grep(mut grep: Command, needles: &Needles) -> Command {
    grep.args(["--text", "--fixed-strings", "--file"]).arg(needles.path()).env("LC_ALL", "C");
    grep
}

fn in_files(program: Command, paths: &[PathBuf], needles: &Needles) -> Vec<String> {
    if paths.is_empty() {
        return Vec::new();
    }
    let output = grep(program, needles)
        .args(["--recursive", "--devices=skip", "--no-messages", "--files-with-matches"])
        .args(
            Path::new(DISK).file_name().map(|name| format!("--exclude={}", name.to_string_lossy())),
        )
        .args(paths)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Where the kernel puts what is left of a program that was killed, and where programs of a server are when it happens.
fn cores(house: &House<'_>) -> Vec<PathBuf> {
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    let named =
        Path::new(pattern.trim()).parent().filter(|it| it.is_absolute()).map(Path::to_owned);
    let places = [PathBuf::from("/"), house.path().to_owned()].into_iter().chain(named);
    let files = places.filter_map(|place| std::fs::read_dir(place).ok()).flatten().flatten();
    let is_core = |path: &PathBuf| {
        path.is_file()
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("core"))
    };
    files.map(|entry| entry.path()).filter(is_core).collect()
}

#[test]
fn a_value_is_known_in_every_spelling() {
    let value = "Qz+Canary/17=";
    let needles = Needles::of(value);
    for lead in ["", "u", "us", "user:"] {
        for text in [
            STANDARD.encode(format!("{lead}{value}tail")),
            URL_SAFE.encode(format!("{lead}{value}")),
        ] {
            assert!(needles.is_in(format!("Basic {text}").as_bytes()), "{text}");
        }
    }
    for text in ["Qz%2BCanary%2F17%3D", "517a2b43616e6172792f31373d", "517A2B43616E6172792F31373D"]
    {
        assert!(needles.is_in(text.as_bytes()), "{text}");
    }
    assert!(!needles.is_in(b"Qz+Canary/18="));
}
