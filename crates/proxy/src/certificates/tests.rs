//! Authorities and certificates, as real readers of them see them.

use std::{
    io::{Read as _, Write as _},
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use domain::{id::SandboxId, policy::HostName, time::Timestamp};
use proptest::prelude::*;
use rustls::{
    ClientConfig, ClientConnection, ConfigBuilder, RootCertStore, ServerConfig, ServerConnection,
    pki_types::{CertificateDer, UnixTime, pem::PemObject as _},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
    time_provider::TimeProvider,
};
use unsupported::supported;

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

#[test]
fn openssl_sees_an_authority_of_one_sandbox() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("authority.pem");
    std::fs::write(&place, authority().certificate).unwrap();
    let place = place.to_str().unwrap();
    let ran = Command::new("openssl")
        .args(["x509", "-in", place, "-noout", "-text"])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("`openssl` is not on this machine: {error}"));
    let ran = supported!(ran);
    let told = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    let done = ran.status.success();
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

proptest! {
    #[test]
    fn any_certificate_is_an_authority_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let certificate = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(&bytes));
        let read = Leafs::new(&Authority { certificate, key: authority().key });
        prop_assert!(read.is_err());
    }
}
