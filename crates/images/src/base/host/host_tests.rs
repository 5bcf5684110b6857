//! What a sandbox sees of a host: a small made-up one, and this one.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use super::*;
use crate::base::skeleton::SkeletonKind;

/// A host with a merged `/usr`, a user with keys, and secrets in `/etc`.
fn host() -> tempfile::TempDir {
    let host = tempfile::tempdir().unwrap();
    let at = |path: &str| host.path().join(path);
    for path in [
        "usr/bin",
        "usr/lib",
        "usr/local/bin",
        "opt/tool",
        "etc/ssl/certs",
        "etc/ssl/private",
        "etc/ssh",
        "etc/java-21-openjdk/security",
        "etc/maven/logging",
        "etc/alternatives",
        "var/lib",
        "root",
        "run",
        "home/ann/.cargo/bin",
        "home/ann/.rustup/toolchains/stable",
        "home/ann/.ssh",
        "home/ann/keys/.aws",
        "srv/jdk",
    ] {
        fs::create_dir_all(at(path)).unwrap();
    }
    for (path, content) in [
        ("etc/ld.so.cache", "cache"),
        ("etc/passwd", "ann:x:1000"),
        ("etc/shadow", "ann:$6$"),
        ("etc/ssl/certs/ca.pem", "-----BEGIN CERTIFICATE-----"),
        ("etc/ssl/certs/mixed.pem", "-----BEGIN RSA PRIVATE KEY-----"),
        ("etc/ssl/certs/hidden.pem", "only root may read it"),
        ("etc/ssl/private/host.key", "-----BEGIN PRIVATE KEY-----"),
        ("etc/ssh/ssh_host_ed25519_key", "key"),
        ("etc/npmrc", "//r/:_authToken=x"),
        ("etc/java-21-openjdk/security/java.security", "x"),
        ("etc/maven/m2.conf", "main"),
        ("etc/maven/settings.xml", "<password>"),
        ("etc/services", "http 80/tcp"),
        ("home/ann/.netrc", "password x"),
        ("srv/jdk/.npmrc", "//r/:_authToken=x"),
    ] {
        fs::write(at(path), content).unwrap();
    }
    fs::set_permissions(at("etc/ssl/certs/hidden.pem"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("usr/bin", at("bin")).unwrap();
    symlink("/home/ann", at("lib")).unwrap();
    fs::create_dir(at("lib64")).unwrap();
    symlink("/usr/share/zoneinfo/UTC", at("etc/localtime")).unwrap();
    symlink("../private/host.key", at("etc/ssl/certs/linked.pem")).unwrap();
    symlink("../home/ann", at("srv/innocent")).unwrap();
    host
}

fn told(view: &HostView) -> String {
    let mut text = String::new();
    for bind in &view.binds {
        writeln!(text, "bind {}", bind.to).unwrap();
    }
    for SkeletonEntry { path, kind, .. } in &view.skeleton {
        let line = match kind {
            SkeletonKind::Directory { .. } => format!("directory {path}"),
            SkeletonKind::File { content, .. } => {
                format!("file {path}: {:?}", String::from_utf8_lossy(content))
            }
            SkeletonKind::Symlink { target } => format!("link {path} -> {target}"),
        };
        writeln!(text, "{line}").unwrap();
    }
    text + &view.left_out.join("\n")
}

#[test]
fn a_sandbox_sees_programs_and_a_few_files_of_etc() {
    let host = host();
    let toolchains =
        ["/home/ann/.cargo/bin", "/home/ann/.rustup/toolchains", "/opt/tool"].map(PathBuf::from);
    let view = HostView::of(host.path(), &toolchains).unwrap();
    insta::assert_snapshot!(told(&view));
    for bind in &view.binds {
        assert!(
            view.skeleton.iter().any(|entry| entry.path == bind.to),
            "{} has no place",
            bind.to
        );
    }
}

#[test]
fn a_directory_with_more_than_a_toolchain_is_refused() {
    let host = host();
    let asked = [
        "/",
        "/home",
        "/home/ann",
        "/root",
        "/var",
        "/var/lib",
        "/etc",
        "/etc/ssl",
        "/proc",
        "/sys",
        "/dev/shm",
        "/run",
        "/boot",
        "home/ann/.cargo",
        "/home/ann/../ann/.cargo",
        "/nowhere",
        "/home/ann/.ssh",
        "/tmp/tool",
        "/workspace",
        "/home/ann/.config/tool",
        "/home/ann/keys",
        "/srv/jdk",
        "/srv/innocent",
        "/etc/passwd",
        "//home//ann/",
    ];
    let refused: Vec<String> = asked
        .iter()
        .map(|path| match HostView::of(host.path(), &[PathBuf::from(path)]) {
            Ok(_) => format!("{path} IS SHOWN"),
            Err(error) => error.to_string(),
        })
        .collect();
    insta::assert_snapshot!(refused.join("\n"));
}

#[test]
fn the_key_of_a_host_follows_its_packages() {
    let host = host();
    let view = || HostView::of(host.path(), &[]).unwrap().digest();
    let before = view();
    assert_eq!(before, view());
    fs::write(host.path().join("usr/bin/gcc"), "new").unwrap();
    let with_program = view();
    assert_ne!(before, with_program);
    fs::write(host.path().join("etc/services"), "https 443/tcp").unwrap();
    assert_ne!(with_program, view());
}

#[test]
fn this_host_is_seen_without_its_secrets() {
    let view = HostView::of_this_host(&[]).unwrap();
    assert!(view.binds.iter().any(|bind| bind.to == "/usr"));
    for entry in &view.skeleton {
        let secret = ["shadow", "/ssh", "private", "/root", "/home", "npmrc", "pip.conf"];
        assert!(!secret.iter().any(|part| entry.path.contains(part)), "{}", entry.path);
    }
    for bind in &view.binds {
        assert!(
            ["/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"]
                .contains(&bind.to.as_str())
        );
    }
}
