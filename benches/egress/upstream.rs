//! The host that everybody asks: HTTPS with kept-alive connections, in a process of its own.
//!
//! `GET /small` is answered with 100 bytes, `GET /bytes/N` with N. The process is this program again, with [`CHILD`]; it
//! says its port, and ends when its input does.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use anyhow::Context as _;
use fs_err as fs;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, unix::pipe::Receiver},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

use super::clients::provider;

/// The argument that makes this program the host; a directory with its certificate follows.
pub const CHILD: &str = "--egress-upstream";

/// By which names it is asked: where requests are looked at, where they are not, and by whoever knows no names of ours.
pub const SEEN: &str = "seen.bench.internal";
pub const BLIND: &str = "blind.bench.internal";
pub const PLAIN: &str = "localhost";

const CERTIFICATE: &str = "host.pem";
const KEY: &str = "host.key";
const AUTHORITY: &str = "authority.pem";

/// What is written at once.
const PIECE: usize = 64 * 1024;

/// The process, which ends with this.
#[derive(Debug)]
pub struct Upstream {
    child: Child,
    pub address: SocketAddr,
    /// Of the authority that vouches for it, as PEM.
    pub authority: String,
    pub authority_file: PathBuf,
}

impl Upstream {
    pub fn start(at: &Path) -> anyhow::Result<Self> {
        let authority = certify(at)?;
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.arg(CHILD).arg(at).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let said = child.stdout.take().context("no way to hear the host")?;
        let mut upstream = Self {
            child,
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            authority,
            authority_file: at.join(AUTHORITY),
        };
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        upstream.address.set_port(line.trim().parse().context("the host does not start")?);
        Ok(upstream)
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes a certificate for all names, and its key. Gives that of the authority.
fn certify(at: &Path) -> anyhow::Result<String> {
    let authority_key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "Lamplighter's benches");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = params.self_signed(&authority_key)?.pem();
    let issuer = Issuer::new(params, authority_key);
    let key = KeyPair::generate()?;
    let names = [SEEN, BLIND, PLAIN].map(str::to_owned);
    let host = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
    fs::write(at.join(CERTIFICATE), host.pem())?;
    fs::write(at.join(KEY), key.serialize_pem())?;
    fs::write(at.join(AUTHORITY), &authority)?;
    Ok(authority)
}

/// The host's process: serves until its input ends.
pub async fn serve(at: PathBuf) -> anyhow::Result<()> {
    let chain = CertificateDer::pem_file_iter(at.join(CERTIFICATE))?.collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_file(at.join(KEY))?;
    let settings = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    let acceptor = TlsAcceptor::from(Arc::new(settings));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", listener.local_addr()?.port())?;
    out.flush()?;

    let input = rustix::io::dup(rustix::stdio::stdin())?;
    let (mut input, mut ignored) = (Receiver::from_owned_fd(input)?, [0; 64]);
    let mut serving = JoinSet::new();
    loop {
        tokio::select! {
            read = input.read(&mut ignored) => if read.unwrap_or(0) == 0 { return Ok(()) },
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                serving.spawn(one(acceptor.clone(), stream));
            }
            Some(_ended) = serving.join_next() => {}
        }
    }
}

/// One connection. Whoever closes it does so without a word.
async fn one(acceptor: TlsAcceptor, stream: TcpStream) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = acceptor.accept(stream).await?;
    let mut heard = Vec::new();
    while let Some(path) = request(&mut stream, &mut heard).await? {
        let count = match path.strip_prefix("/bytes/") {
            Some(count) => count.parse()?,
            None => 100,
        };
        answer(&mut stream, count).await?;
    }
    Ok(())
}

/// The path of the next request, or nothing at the end.
async fn request<S: AsyncRead + Unpin>(
    stream: &mut S,
    heard: &mut Vec<u8>,
) -> anyhow::Result<Option<String>> {
    const END: &[u8] = b"\r\n\r\n";
    loop {
        let end = heard.windows(END.len()).position(|window| window == END);
        if let Some(end) = end {
            let whole: Vec<u8> = heard.drain(..end + END.len()).collect();
            let whole = String::from_utf8_lossy(&whole).into_owned();
            let path = whole.split(' ').nth(1).context("a request without a path")?;
            return Ok(Some(path.to_owned()));
        }
        if stream.read_buf(heard).await? == 0 {
            return Ok(None);
        }
    }
}

async fn answer<S: AsyncWrite + Unpin>(stream: &mut S, count: usize) -> anyhow::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: ";
    let mut out = format!("{head}{count}\r\n\r\n").into_bytes();
    let mut left = count;
    // A short answer goes in one write.
    while left > 0 {
        let piece = left.min(PIECE);
        out.resize(out.len() + piece, b'.');
        stream.write_all(&out).await?;
        out.clear();
        left -= piece;
    }
    stream.write_all(&out).await?;
    stream.flush().await?;
    Ok(())
}
