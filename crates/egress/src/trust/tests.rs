//! Authorities, certificates and files, as real readers of them see them.

use std::{
    io::{Read as _, Write as _},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use contracts::egress::When;
use domain::{id::SandboxId, policy::HostName, time::Timestamp};
use proptest::prelude::*;
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, RootCertStore, ServerConfig, ServerConnection,
    pki_types::{CertificateDer, UnixTime, pem::PemObject as _},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
    time_provider::TimeProvider,
};
use unsupported::{supported, unsupported};

use super::*;
use crate::ask::Authority;

/// 2026-11-16.
const NOW: Timestamp = Timestamp::from_millis(1_794_787_200_000);
const DAY: i64 = 24 * 60 * 60 * 1000;

fn authority() -> Authority {
    make(SandboxId::from_u128(7), NOW).unwrap()
}

fn host(text: &str) -> HostName {
    text.parse().unwrap()
}

fn later(days: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() + days * DAY)
}

#[derive(Debug)]
struct Fixed(Timestamp);

impl TimeProvider for Fixed {
    fn current_time(&self) -> Option<UnixTime> {
        let millis = u64::try_from(self.0.as_millis()).unwrap();
        Some(UnixTime::since_unix_epoch(Duration::from_millis(millis)))
    }
}

#[derive(Debug)]
struct Always(Arc<CertifiedKey>);

impl ResolvesServerCert for Always {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

fn builder<S: rustls::ConfigSide>(
    begin: impl Fn(
        Arc<rustls::crypto::CryptoProvider>,
        Arc<dyn TimeProvider>,
    ) -> ConfigBuilder<S, rustls::WantsVersions>,
    now: Timestamp,
) -> ConfigBuilder<S, rustls::WantsVersions> {
    begin(Arc::new(rustls::crypto::aws_lc_rs::default_provider()), Arc::new(Fixed(now)))
}

/// Shakes hands in memory, with a client that believes `authority` and asks for `name` at `now`.
fn shake_hands(
    authority: &Authority,
    leaf: Arc<CertifiedKey>,
    name: &str,
    now: Timestamp,
) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.certificate.as_bytes()).unwrap()).unwrap();
    let client = builder(ClientConfig::builder_with_details, now)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = builder(ServerConfig::builder_with_details, now)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Always(leaf)));
    let mut client =
        ClientConnection::new(Arc::new(client), name.to_owned().try_into().unwrap()).unwrap();
    let mut server = ServerConnection::new(Arc::new(server)).unwrap();
    for _ in 0..8 {
        let mut bytes = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut bytes).unwrap();
        }
        server.read_tls(&mut &bytes[..]).unwrap();
        server.process_new_packets()?;
        let mut bytes = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut bytes).unwrap();
        }
        client.read_tls(&mut &bytes[..]).unwrap();
        client.process_new_packets()?;
    }
    client.writer().write_all(b"hello").unwrap();
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).unwrap();
    server.read_tls(&mut &bytes[..]).unwrap();
    server.process_new_packets()?;
    let mut heard = [0; 5];
    server.reader().read_exact(&mut heard).unwrap();
    assert_eq!(&heard, b"hello");
    Ok(())
}

#[test]
fn a_client_that_believes_the_authority_believes_its_certificates() {
    let authority = authority();
    let leafs = Leafs::new(&authority).unwrap();
    let leaf = leafs.certificate_for(&host("api.example.com"), NOW).unwrap();
    shake_hands(&authority, leaf, "api.example.com", NOW).unwrap();
    let long = format!("{}.{}.example.com", "a".repeat(60), "b".repeat(60));
    let leaf = leafs.certificate_for(&host(&long), NOW).unwrap();
    shake_hands(&authority, leaf, &long, NOW).unwrap();
}

#[test]
fn a_certificate_is_for_one_host_and_one_sandbox() {
    let authority = authority();
    let leaf =
        Leafs::new(&authority).unwrap().certificate_for(&host("api.example.com"), NOW).unwrap();
    shake_hands(&authority, Arc::clone(&leaf), "example.com", NOW).unwrap_err();
    shake_hands(&authority, Arc::clone(&leaf), "x.api.example.com", NOW).unwrap_err();
    let other = make(SandboxId::from_u128(7), NOW).unwrap();
    shake_hands(&other, leaf, "api.example.com", NOW).unwrap_err();
}

#[test]
fn a_certificate_is_made_anew_before_it_expires() {
    let authority = authority();
    let leafs = Leafs::new(&authority).unwrap();
    let name = host("api.example.com");
    let first = leafs.certificate_for(&name, NOW).unwrap();
    assert!(
        Arc::ptr_eq(&first, &leafs.certificate_for(&name, later(12)).unwrap()),
        "it is remembered"
    );
    shake_hands(&authority, Arc::clone(&first), "api.example.com", later(15)).unwrap_err();
    for days in [13, 14, 100, 1000, 1800] {
        let leaf = leafs.certificate_for(&name, later(days)).unwrap();
        assert_ne!(leaf.cert, first.cert, "after {days} days");
        shake_hands(&authority, leaf, "api.example.com", later(days)).unwrap();
    }
}

#[test]
fn a_bounded_number_of_certificates_is_remembered_the_used_ones_first() {
    let leafs = Leafs::new(&authority()).unwrap();
    let kept = leafs.certificate_for(&host("kept.example.com"), NOW).unwrap();
    let lost = leafs.certificate_for(&host("lost.example.com"), NOW).unwrap();
    for number in 0..300 {
        leafs.certificate_for(&host(&format!("h{number}.example.com")), NOW).unwrap();
        let again = leafs.certificate_for(&host("kept.example.com"), NOW).unwrap();
        assert!(Arc::ptr_eq(&kept, &again));
    }
    let again = leafs.certificate_for(&host("lost.example.com"), NOW).unwrap();
    assert!(!Arc::ptr_eq(&lost, &again));
}

#[test]
fn an_authority_that_is_not_ours_is_refused() {
    let mut wrong = authority();
    wrong.key = vec![1, 2, 3];
    assert!(Leafs::new(&wrong).is_err());
    let mut wrong = authority();
    wrong.certificate = "nothing".to_owned();
    assert!(Leafs::new(&wrong).is_err());
    assert!(!format!("{:?}", authority()).contains("BEGIN"));
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
fn openssl_sees_an_authority_of_one_sandbox() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("authority.pem");
    std::fs::write(&place, authority().certificate).unwrap();
    let place = place.to_str().unwrap();
    let (done, told) = supported!(run("openssl", &["x509", "-in", place, "-noout", "-text"]));
    assert!(done, "{told}");
    for line in [
        "CA:TRUE, pathlen:0",
        "Certificate Sign",
        "prime256v1",
        "Lamplighter s_",
        "Not Before: Nov 15",
        "2031 GMT",
    ] {
        assert!(told.contains(line), "{line} is missing from {told}");
    }
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

    #[test]
    fn any_certificate_is_an_authority_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let certificate = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(&bytes));
        let read = Leafs::new(&Authority { certificate, key: authority().key });
        prop_assert!(read.is_err());
    }
}
