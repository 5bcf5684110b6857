//! Programs that ask the host, directly or by a proxy, with as little of their own as can be.

use std::{net::SocketAddr, sync::Arc};

use anyhow::{Context as _, bail, ensure};
use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// The longest head that anybody here says.
const HEAD: usize = 16 * 1024;

/// How the host is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Direct,
    OursSpliced,
    OursIntercepted,
    Squid,
    MitmproxySpliced,
    MitmproxyIntercepted,
}

impl Way {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::OursSpliced => "ours, spliced",
            Self::OursIntercepted => "ours, intercepted",
            Self::Squid => "squid, spliced",
            Self::MitmproxySpliced => "mitmproxy, spliced",
            Self::MitmproxyIntercepted => "mitmproxy, intercepted",
        }
    }
}

/// From a program to the host.
#[derive(Clone)]
pub struct Route {
    /// Where the program connects to.
    first: SocketAddr,
    /// What it says to a proxy there.
    ask: Option<String>,
    host: ServerName<'static>,
    tls: TlsConnector,
}

/// A kept-alive connection with the host, all handshakes done.
#[derive(Debug)]
pub struct Connection {
    stream: TlsStream<TcpStream>,
    host: String,
    heard: Vec<u8>,
}

impl Route {
    /// `believed` is PEM.
    pub fn direct(upstream: SocketAddr, host: &str, believed: &str) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(believed.as_bytes()) {
            roots.add(certificate?)?;
        }
        let mut settings = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        // Every connection is a first one, as it is for a program that has just been started.
        settings.resumption = Resumption::disabled();
        let host = ServerName::try_from(host.to_owned())?;
        Ok(Self { first: upstream, ask: None, host, tls: TlsConnector::from(Arc::new(settings)) })
    }

    /// By a proxy, which is asked for `authority`.
    #[must_use]
    pub fn through(self, proxy: SocketAddr, authority: &str) -> Self {
        let ask = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        Self { first: proxy, ask: Some(ask), ..self }
    }

    pub async fn open(&self) -> anyhow::Result<Connection> {
        let mut stream = TcpStream::connect(self.first).await?;
        stream.set_nodelay(true)?;
        if let Some(ask) = &self.ask {
            stream.write_all(ask.as_bytes()).await?;
            let mut heard = Vec::new();
            let answer = head(&mut stream, &mut heard).await?;
            ensure!(answer.contains(" 200 "), "the proxy says: {answer}");
            ensure!(heard.is_empty(), "the proxy says more than it was asked");
        }
        let stream = self.tls.connect(self.host.clone(), stream).await?;
        Ok(Connection { stream, host: self.host.to_str().into_owned(), heard: Vec::new() })
    }
}

impl Connection {
    /// Asks, and reads the whole answer. Gives how long its body was.
    pub async fn get(&mut self, path: &str) -> anyhow::Result<usize> {
        self.ask(path).await?;
        self.answer().await
    }

    pub async fn ask(&mut self, path: &str) -> anyhow::Result<()> {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.host);
        self.stream.write_all(request.as_bytes()).await?;
        Ok(self.stream.flush().await?)
    }

    /// Reads only that an answer has begun.
    pub async fn begun(&mut self) -> anyhow::Result<()> {
        let answer = head(&mut self.stream, &mut self.heard).await?;
        ensure!(answer.contains(" 200 "), "the answer is: {answer}");
        Ok(())
    }

    async fn answer(&mut self) -> anyhow::Result<usize> {
        let answer = head(&mut self.stream, &mut self.heard).await?;
        ensure!(answer.contains(" 200 "), "the answer is: {answer}");
        let length = answer.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
        });
        let length = length.context("an answer without a length")??;
        let mut have = self.heard.len();
        self.heard.clear();
        let mut piece = vec![0; 256 * 1024];
        while have < length {
            match self.stream.read(&mut piece).await? {
                0 => bail!("the answer was cut off after {have} of {length} bytes"),
                count => have += count,
            }
        }
        ensure!(have == length, "the answer is longer than it says");
        Ok(length)
    }
}

/// The next head; what was read behind it stays in `heard`.
async fn head<S: AsyncRead + Unpin>(stream: &mut S, heard: &mut Vec<u8>) -> anyhow::Result<String> {
    const END: &[u8] = b"\r\n\r\n";
    loop {
        let end = heard.windows(END.len()).position(|window| window == END);
        if let Some(end) = end {
            let whole: Vec<u8> = heard.drain(..end + END.len()).collect();
            return Ok(String::from_utf8_lossy(&whole).into_owned());
        }
        ensure!(heard.len() < HEAD, "a head without an end");
        ensure!(stream.read_buf(heard).await? > 0, "the connection was closed");
    }
}

pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::aws_lc_rs::default_provider())
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Route").field("first", &self.first).finish_non_exhaustive()
    }
}
