//! Bundles and files, as real readers of them see them.

use std::process::{Command, Stdio};

use contracts::egress::When;
use domain::{id::SandboxId, time::Timestamp};
use proptest::prelude::*;
use proxy::{ask::Authority, certificates::make};
use unsupported::{supported, unsupported};

use super::*;

/// 2026-11-16.
const NOW: Timestamp = Timestamp::from_millis(1_794_787_200_000);

fn authority() -> Authority {
    make(SandboxId::from_u128(7), NOW).unwrap()
}

/// Runs a program that is there, or says that it is not.
fn run(program: &str, arguments: &[&str]) -> Result<(bool, String), String> {
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let ran = ran.map_err(|error| format!("`{program}` is not on this machine: {error}"))?;
    let told =
        String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    Ok((ran.status.success(), told))
}

#[test]
fn keytool_reads_the_trust_store_and_finds_every_certificate() {
    let (ours, roots) = (authority(), Roots::parse(&three_roots()).unwrap());
    let inside = inside(&ours, &roots, NOW).unwrap();
    let store = inside.files.iter().find(|file| file.path == JAVA).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("store.jks");
    std::fs::write(&place, &store.bytes).unwrap();
    let place = place.to_str().unwrap();
    let listing = ["-list", "-keystore", place, "-storepass", "changeit"];
    let (done, told) = supported!(run("keytool", &listing));
    assert!(done && told.contains("contains 4 entries"), "{told}");
    assert!(told.contains("lamplighter, Nov 1") && told.contains("trustedCertEntry"), "{told}");
    let wrong = run("keytool", &["-list", "-keystore", place, "-storepass", "wrong-one"]).unwrap();
    assert!(!wrong.0, "the digest is over the password: {}", wrong.1);
}

fn three_roots() -> String {
    let root = |number| make(SandboxId::from_u128(number), NOW).unwrap().certificate;
    format!("# the first\n{}\nSecond\n{}{}", root(1), root(2), root(3))
}

#[test]
fn what_is_put_inside_names_files_that_are_put_inside() {
    let inside = inside(&authority(), &Roots::parse(&three_roots()).unwrap(), NOW).unwrap();
    let always: Vec<&str> = inside
        .files
        .iter()
        .filter(|file| file.when == When::Always)
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(always, [AUTHORITY, BUNDLE, JAVA]);
    let variables: Vec<String> =
        inside.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    insta::assert_snapshot!(variables.join("\n"));
    let bundle = &inside.files.iter().find(|file| file.path == BUNDLE).unwrap().bytes;
    let read = Roots::parse(std::str::from_utf8(bundle).unwrap()).unwrap();
    assert_eq!(read.certificates().len(), 4);
    let secret = rustls::pki_types::PrivatePkcs8KeyDer::from(authority().key);
    for file in &inside.files {
        assert!(!file.bytes.windows(24).any(|window| window == &secret.secret_pkcs8_der()[..24]));
        assert!(!file.bytes.windows(11).any(|window| window == b"PRIVATE KEY"));
    }
}

#[test]
fn the_bundle_of_this_machine_is_read() {
    let Ok(text) = std::fs::read_to_string("/etc/ssl/certs/ca-certificates.crt") else {
        unsupported!("this machine has no bundle of certificates");
    };
    let roots = Roots::parse(&text).unwrap();
    assert!(roots.certificates().len() > 50);
    assert_eq!(Roots::parse(&roots.to_pem()).unwrap(), roots);
    assert_eq!(roots.clone().and(roots.clone()), roots, "each is there once");
}

#[test]
fn a_broken_bundle_is_told() {
    let broken = "-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
    assert_eq!(
        Roots::parse(&format!("{}{broken}", authority().certificate)),
        Err(RootsError::Malformed(2))
    );
    assert_eq!(Roots::parse("nothing at all").unwrap(), Roots::default());
}

proptest! {
    #[test]
    fn any_text_is_read_as_a_bundle_or_refused(text in "(-----BEGIN CERTIFICATE-----|-----END CERTIFICATE-----|[A-Za-z=\n]{0,8}){0,12}") {
        let _ = Roots::parse(&text);
    }
}
