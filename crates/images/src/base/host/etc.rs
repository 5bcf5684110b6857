//! Which files of the host's `/etc` a sandbox has. What is not on the list does not exist inside.
//!
//! Never on it: passwords (`shadow`), keys (`ssh`, `ssl/private`), and the settings of tools that keep credentials in them
//! (`npmrc`, `pip.conf`, `gitconfig`, `docker`, `kubernetes`, Maven's `settings.xml`).

use std::{
    fs,
    io::Read,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use super::on;
use crate::base::skeleton::{SkeletonEntry, SkeletonKind};

/// A file or a whole directory, and why it is needed.
const LIST: [(&str, &str); 41] = [
    ("/etc/ld.so.cache", "programs find their libraries"),
    ("/etc/ld.so.conf", "the same"),
    ("/etc/ld.so.conf.d", "the same"),
    ("/etc/alternatives", "links from `/usr/bin/java` and others lead through it"),
    ("/etc/ssl/certs", "public certificates"),
    ("/etc/ssl/openssl.cnf", "OpenSSL warns without it"),
    ("/etc/ca-certificates", "public certificates, on Arch"),
    ("/etc/ca-certificates.conf", "which of them are trusted"),
    ("/etc/pki/tls/certs", "public certificates, on Fedora"),
    ("/etc/pki/tls/openssl.cnf", "OpenSSL warns without it"),
    ("/etc/pki/ca-trust/extracted", "public certificates, on Fedora"),
    ("/etc/pki/java", "public certificates, for Java"),
    ("/etc/crypto-policies", "which ciphers OpenSSL allows, on Fedora"),
    ("/var/lib/ca-certificates", "public certificates, on SUSE"),
    ("/etc/localtime", "the zone"),
    ("/etc/timezone", "the zone, by name"),
    ("/etc/locale.conf", "the language"),
    ("/etc/locale.alias", "the language"),
    ("/etc/default/locale", "the language"),
    ("/etc/mime.types", "servers and tests tell files by it"),
    ("/etc/services", "ports by name"),
    ("/etc/protocols", "protocols by name"),
    ("/etc/rpc", "the same"),
    ("/etc/ethertypes", "the same"),
    ("/etc/gai.conf", "the order of addresses"),
    ("/etc/host.conf", "how names are looked up"),
    ("/etc/os-release", "tools ask which system this is"),
    ("/etc/debian_version", "the same"),
    ("/etc/lsb-release", "the same"),
    ("/etc/shells", "which shells exist"),
    ("/etc/inputrc", "the keys of a terminal"),
    ("/etc/terminfo", "kinds of terminals"),
    ("/etc/magic", "`file` reads it"),
    ("/etc/magic.mime", "the same"),
    ("/etc/fonts", "what draws text needs fonts"),
    ("/etc/xml", "catalogues of document types"),
    ("/etc/sgml", "the same"),
    ("/etc/perl", "Perl looks for modules there"),
    ("/etc/maven", "Maven does not start without its logging settings"),
    ("/etc/python3", "Debian's Python tools read it"),
    ("/etc/groff", "manual pages"),
];

/// Directories with a version in their name: the settings of a Java, of a Python.
const VERSIONED: [&str; 2] = ["java-", "python3."];

/// Not even if they are in a directory of the list.
const NEVER: [&str; 6] = [
    "settings.xml",
    "settings-security.xml",
    "private",
    "jmxremote.password",
    "id_rsa",
    "credentials",
];

const NAMES: &str =
    "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n";
const PROFILE: &str = "PATH=\"$HOME/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\"\nexport PATH\n";

const LARGEST_FILE: u64 = 8 << 20;
const MOST_ENTRIES: usize = 20_000;
const DEEPEST: usize = 8;

/// Copies what is on the list. What cannot be read is as if it were not there, with a sentence about it.
pub(super) fn copy(root: &Path, into: &mut Vec<SkeletonEntry>, left_out: &mut Vec<String>) {
    let mut copying = Copying { root, into, left_out, count: 0 };
    for (path, _why) in LIST {
        if copying.is_reached_plainly(path) {
            copying.entry(path, 0);
        }
    }
    for path in copying.versioned() {
        copying.entry(&path, 0);
    }
    into.push(SkeletonEntry::file("/etc/nsswitch.conf", NAMES));
    into.push(SkeletonEntry::file("/etc/profile", PROFILE));
    into.push(SkeletonEntry::symlink("/etc/mtab", "/proc/mounts"));
}

struct Copying<'a> {
    root: &'a Path,
    into: &'a mut Vec<SkeletonEntry>,
    left_out: &'a mut Vec<String>,
    count: usize,
}

impl Copying<'_> {
    /// Whether no directory on the way is a link: then the list means what it says.
    fn is_reached_plainly(&self, path: &str) -> bool {
        Path::new(path).ancestors().skip(1).filter_map(Path::to_str).all(|directory| {
            let found = on(self.root, directory).symlink_metadata();
            found.is_ok_and(|found| found.is_dir())
        })
    }

    fn versioned(&self) -> Vec<String> {
        let mut found: Vec<String> = names(&on(self.root, "/etc"))
            .into_iter()
            .filter(|name| VERSIONED.iter().any(|start| name.starts_with(start)))
            .map(|name| format!("/etc/{name}"))
            .collect();
        found.sort();
        found
    }

    fn entry(&mut self, path: &str, depth: usize) {
        let place = on(self.root, path);
        let Ok(found) = place.symlink_metadata() else { return };
        self.count += 1;
        if self.count > MOST_ENTRIES || depth > DEEPEST {
            return self.leave_out(path, "there is too much of it");
        }
        let kind = found.file_type();
        if kind.is_symlink() {
            match fs::read_link(&place).ok().and_then(|target| target.to_str().map(str::to_owned)) {
                Some(target) => self.into.push(SkeletonEntry::symlink(path, target)),
                None => self.leave_out(path, "it leads to a name that cannot be read"),
            }
            return;
        }
        let is_for_everyone = found.mode() & if kind.is_dir() { 0o005 } else { 0o004 };
        if is_for_everyone != if kind.is_dir() { 0o005 } else { 0o004 } {
            return self.leave_out(path, "not every user of the host may read it");
        }
        if kind.is_dir() {
            self.into.push(SkeletonEntry::directory(path));
            let mut names = names(&place);
            names.sort();
            for name in names.iter().filter(|name| !NEVER.contains(&name.as_str())) {
                self.entry(&format!("{path}/{name}"), depth + 1);
            }
        } else if kind.is_file() {
            self.file(path, &place, found.permissions().mode());
        }
    }

    fn file(&mut self, path: &str, place: &Path, mode: u32) {
        let mut content = Vec::new();
        let read = fs::File::open(place)
            .and_then(|file| file.take(LARGEST_FILE + 1).read_to_end(&mut content));
        if read.is_err() {
            return self.leave_out(path, "it cannot be read");
        }
        if content.len() as u64 > LARGEST_FILE {
            return self.leave_out(path, "it is too large");
        }
        if holds_a_key(&content) {
            return self.leave_out(path, "there is a private key in it");
        }
        let mode = 0o644 | (mode & 0o111);
        let kind = SkeletonKind::File { mode, content };
        self.into.push(SkeletonEntry { path: path.to_owned(), kind, user: 0, group: 0 });
    }

    fn leave_out(&mut self, path: &str, why: &str) {
        self.left_out.push(format!("`{path}` is left out: {why}"));
    }
}

fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn holds_a_key(content: &[u8]) -> bool {
    const SIGN: &[u8] = b"PRIVATE KEY-----";
    content.windows(SIGN.len()).any(|part| part == SIGN)
}
