//! What a sandbox is given so that programs find the way out, and believe whom they meet on it.
//!
//! | who | finds the way by | believes by |
//! |---|---|---|
//! | curl, git, cargo, Go, pip, uv, Ruby, Rust | `HTTPS_PROXY` and the like | a variable that names the bundle |
//! | Node, npm, Bun | `HTTPS_PROXY`, `NODE_USE_ENV_PROXY` | `NODE_EXTRA_CA_CERTS` |
//! | Java | `JAVA_TOOL_OPTIONS` | the same, and the trust store of the image |
//! | wget, apt, and whoever asks the system | `http_proxy` | the bundle of the image, which is replaced |
//! | a program that knows of no proxy | names lead to doors | as above |
//!
//! `ALL_PROXY` is an HTTP proxy too, because some programs fail when it says SOCKS and they lack a library for it.

use contracts::egress::{DoorKind, Inside, InsideFile, When};
use domain::time::Timestamp;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};

use proxy::{ask::Authority, certificates::LeafsError};

use super::{Roots, java};

/// Where the certificate of the sandbox's own authority lies, inside.
pub const AUTHORITY: &str = "/.lamp/authority.pem";
/// Where all certificates lie that are believed, inside.
pub const BUNDLE: &str = "/.lamp/certificates.pem";
/// Where they lie for Java, inside.
pub const JAVA: &str = "/.lamp/certificates.jks";

/// Bundles of systems, replaced where they are.
const OF_SYSTEMS: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Trust stores of systems' Javas, replaced where they are.
const OF_JAVA: [&str; 2] =
    ["/etc/ssl/certs/java/cacerts", "/etc/pki/ca-trust/extracted/java/cacerts"];

/// Variables that name the bundle.
const NAME_THE_BUNDLE: [&str; 12] = [
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "HEX_CACERTS_PATH",
    "NIX_SSL_CERT_FILE",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_FILE",
];

const DIRECT: &str = "localhost,127.0.0.1,::1";

/// What is put inside, for a sandbox with this authority that believes `roots` besides.
pub fn inside(authority: &Authority, roots: &Roots, now: Timestamp) -> Result<Inside, LeafsError> {
    let ours = CertificateDer::from_pem_slice(authority.certificate.as_bytes())
        .map_err(|_| LeafsError::Authority("its certificate is not PEM"))?;
    let bundle = format!("{}{}", authority.certificate, roots.to_pem()).into_bytes();
    let store = java::trust_store(&ours, roots, now);
    let file = |path: &str, bytes: &[u8], when| InsideFile {
        path: path.to_owned(),
        bytes: bytes.to_vec(),
        when,
    };
    let mut files = vec![
        file(AUTHORITY, authority.certificate.as_bytes(), When::Always),
        file(BUNDLE, &bundle, When::Always),
        file(JAVA, &store, When::Always),
    ];
    files.extend(OF_SYSTEMS.map(|path| file(path, &bundle, When::IfThere)));
    files.extend(OF_JAVA.map(|path| file(path, &store, When::IfThere)));
    Ok(Inside { variables: variables(), files })
}

fn variables() -> std::collections::BTreeMap<String, String> {
    let port = DoorKind::PROXY_PORT;
    let proxy = format!("http://127.0.0.1:{port}");
    let mut all = std::collections::BTreeMap::new();
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        all.insert(name.to_owned(), proxy.clone());
        all.insert(name.to_lowercase(), proxy.clone());
    }
    for name in ["NO_PROXY", "no_proxy"] {
        all.insert(name.to_owned(), DIRECT.to_owned());
    }
    for name in NAME_THE_BUNDLE {
        all.insert(name.to_owned(), BUNDLE.to_owned());
    }
    all.insert("NODE_EXTRA_CA_CERTS".to_owned(), AUTHORITY.to_owned());
    all.insert("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned());
    let java = format!(
        "-Djavax.net.ssl.trustStore={JAVA} -Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={port} \
         -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={port} -Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]"
    );
    all.insert("JAVA_TOOL_OPTIONS".to_owned(), java);
    all
}
