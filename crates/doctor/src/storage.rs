//! The data directory, the disk under it, and the database that the configuration names.

use super::{
    computer::bytes,
    finding::{Finding, Topic},
    host::{Configuration, Data, Database, Disk, Host, Place},
};

/// With less than this, the store cannot even begin.
const LEAST_BYTES: u64 = 64 << 20;
/// With less than this, an image or two fill the disk.
const COMFORTABLE_BYTES: u64 = 10 << 30;
const COMFORTABLE_INODES: u64 = 200_000;

pub(crate) fn examine(host: &Host) -> Vec<Finding> {
    let mut findings = vec![directory(&host.data)];
    if let Some(disk) = &host.data.disk {
        findings.push(space(disk));
        findings.extend(disk.file_system.as_deref().map(file_system));
    }
    findings.extend(host.configuration.iter().flat_map(configuration));
    findings
}

fn directory(data: &Data) -> Finding {
    const NOTHING_KEPT: &str = "lamp cannot keep anything, and does not start";
    const ELSEWHERE: &str = "name another with `--data DIR` or `LAMP_DATA`";
    let topic = Topic::DataDirectory;
    let path = data.directory.display();
    match &data.place {
        Place::Written { mode } if mode & 0o077 != 0 => Finding::limited(
            topic,
            format!("`{path}` can be written, but has mode {:03o}", mode & 0o777),
            "others on this computer may read transcripts and logs",
            format!("`chmod 700 {path}`"),
        ),
        Place::Written { .. } => Finding::ok(topic, format!("`{path}` can be written")),
        Place::Creatable { above } => Finding::ok(
            topic,
            format!("`{path}` is not there yet, and can be made in `{}`", above.display()),
        ),
        Place::Refused { error } => Finding::missing(
            topic,
            format!("`{path}` cannot be written: {error}"),
            NOTHING_KEPT,
            ELSEWHERE,
        ),
        Place::NotADirectory => {
            Finding::missing(topic, format!("`{path}` is not a directory"), NOTHING_KEPT, ELSEWHERE)
        }
        Place::NotCreatable { above, error } => Finding::missing(
            topic,
            format!("`{path}` cannot be made in `{}`: {error}", above.display()),
            NOTHING_KEPT,
            ELSEWHERE,
        ),
    }
}

fn space(disk: &Disk) -> Finding {
    let topic = Topic::DiskSpace;
    let inodes = disk.free_inodes.map_or_else(String::new, |count| format!(", {count} inodes"));
    let measured = format!("{}{inodes} free", bytes(disk.free_bytes));
    if disk.free_bytes < LEAST_BYTES || disk.free_inodes == Some(0) {
        return Finding::missing(
            topic,
            measured,
            "events cannot be written, and lamp does not start",
            "free some space, or name another disk with `--data DIR`",
        );
    }
    let few_inodes = disk.free_inodes.is_some_and(|count| count < COMFORTABLE_INODES);
    if disk.free_bytes < COMFORTABLE_BYTES || few_inodes {
        return Finding::limited(
            topic,
            measured,
            "a few images and workspaces will fill it",
            "free some space, or name another disk with `--data DIR`",
        );
    }
    Finding::ok(topic, measured)
}

fn file_system(name: &str) -> Finding {
    let topic = Topic::FileSystem;
    match name {
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "ceph" | "glusterfs" | "fuse.sshfs"
        | "virtiofs" => Finding::limited(
            topic,
            name,
            "SQLite is not safe on a shared file system, and overlay layers may not work on it",
            "keep the data directory on a local disk, or the events in PostgreSQL",
        ),
        "tmpfs" | "ramfs" => Finding::limited(
            topic,
            name,
            "all tasks are lost when this computer restarts",
            "keep the data directory on a disk",
        ),
        "overlay" => Finding::limited(
            topic,
            name,
            "overlay layers cannot lie on an overlay; in a container, data is lost with it",
            "mount a volume for the data directory",
        ),
        "vfat" | "exfat" | "ntfs3" | "fuseblk" => Finding::limited(
            topic,
            name,
            "it keeps neither owners nor permissions",
            "keep the data directory on ext4, xfs or btrfs",
        ),
        local => Finding::ok(topic, local),
    }
}

fn configuration(configuration: &Configuration) -> Vec<Finding> {
    let topic = Topic::Configuration;
    match configuration {
        Configuration::Unreadable { file, error } => vec![Finding::missing(
            topic,
            format!("`{file}` cannot be read: {error}"),
            "lamp does not start with it",
            "name another file",
        )],
        Configuration::Wrong { file, problems } => {
            let noun = if *problems == 1 { "problem" } else { "problems" };
            vec![Finding::missing(
                topic,
                format!("`{file}` has {problems} {noun}"),
                "lamp does not start with it",
                format!("`lamp config check {file}` names each with its line"),
            )]
        }
        Configuration::Right { file, database } => {
            vec![Finding::ok(topic, format!("`{file}` is right")), self::database(database)]
        }
    }
}

fn database(database: &Database) -> Finding {
    let topic = Topic::Database;
    match database {
        Database::InDataDirectory => Finding::ok(topic, "SQLite, in the data directory"),
        Database::Sqlite { file, answer: Ok(()) } => {
            Finding::ok(topic, format!("SQLite, in `{}`", file.display()))
        }
        Database::Sqlite { file, answer: Err(error) } => Finding::missing(
            topic,
            format!("SQLite cannot use `{}`: {error}", file.display()),
            "lamp cannot read or write tasks, and does not start",
            "mend the path in the configuration, or the permissions of its directory",
        ),
        Database::PostgresSocket => {
            Finding::ok(topic, "PostgreSQL, by a socket of this computer; not tried")
        }
        Database::Postgres { address, answer: Ok(()) } => {
            Finding::ok(topic, format!("PostgreSQL at {address}: something listens there"))
        }
        Database::Postgres { address, answer: Err(error) } => Finding::missing(
            topic,
            format!("PostgreSQL at {address} does not answer: {error}"),
            "lamp cannot read or write tasks, and does not start",
            "start the server, or mend its address in the configuration",
        ),
    }
}
