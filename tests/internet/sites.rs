//! Hosts of the toy internet, over HTTP and HTTPS: each does what the test says, and remembers every request.

use std::{
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use rustls::{
    ServerConfig,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
        BufStream,
    },
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use testkit::model::{Beat, Model};

use super::{
    beats::{Next, play},
    certificates::{Authority, Certificate},
    seen::{Arrival, Seen, canonical},
};

/// A request, as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The name in the TLS hello. Without TLS there is none.
    pub tls: Option<String>,
    pub at: SocketAddr,
    pub method: String,
    /// With the query.
    pub target: String,
    /// Names are in lower case.
    pub headers: Vec<(String, String)>,
    /// Without the marks of its chunks.
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whom it is for, without the port.
    pub fn host(&self) -> &str {
        let host = self.header("host").unwrap_or_default();
        host.rsplit_once(':').map_or(host, |(name, _)| name)
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split_once('?').map_or(self.target.as_str(), |(path, _)| path)
    }

    /// Everything that was said, for looking whether something is in it.
    pub fn all(&self) -> String {
        let mut all = format!("{} {}\n", self.method, self.target);
        for (name, value) in &self.headers {
            all.extend([name, ": ", value, "\n"]);
        }
        all + &String::from_utf8_lossy(&self.body)
    }
}

/// What a host does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Says exactly this, and goes on if it has a length.
    Bytes(Vec<u8>),
    /// Says this, and then the second again and again, without end.
    Endless(Vec<u8>, Vec<u8>),
    /// Plays this, beat by beat: what a scripted model answers.
    Beats(Vec<Beat>),
    /// Never says anything.
    Silence,
    /// Closes the connection.
    Hangup,
}

/// `200` with this body.
pub fn ok(body: &str) -> Reply {
    text(200, "text/plain", body)
}

/// `200` with this JSON.
pub fn json(body: &str) -> Reply {
    text(200, "application/json", body)
}

/// A status without a body.
pub fn status(status: u16) -> Reply {
    text(status, "text/plain", "")
}

/// A status with a body of a kind.
pub fn text(status: u16, kind: &str, body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Toy\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    );
    Reply::Bytes([head.as_bytes(), body].concat())
}

/// What a scripted model answers.
pub(super) fn modelled(model: &Model, request: &Request) -> Reply {
    Reply::Beats(model.answer(&testkit::model::Request {
        method: request.method.clone(),
        target: request.target.clone(),
        headers: request.headers.clone(),
        body: request.body.clone(),
    }))
}

type Handler = Box<dyn Fn(&Request) -> Reply + Send + Sync>;

pub(super) struct Sites {
    seen: Arc<Seen>,
    authority: Authority,
    known: Mutex<BTreeMap<String, Arc<Handler>>>,
    proofs: Mutex<BTreeMap<String, Certificate>>,
}

impl fmt::Debug for Sites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sites").finish_non_exhaustive()
    }
}

impl Sites {
    pub(super) fn new(seen: Arc<Seen>, authority: Authority) -> Self {
        Self { seen, authority, known: Mutex::default(), proofs: Mutex::default() }
    }

    pub(super) fn set(&self, host: &str, handler: Handler) {
        self.known.lock().unwrap().insert(host.to_owned(), Arc::new(handler));
    }

    pub(super) fn prove(&self, host: &str, certificate: Certificate) {
        self.proofs.lock().unwrap().insert(host.to_owned(), certificate);
    }

    async fn reply(&self, request: Request) -> Reply {
        let known = self.known.lock().unwrap().get(request.host()).cloned();
        self.seen.add(Arrival::Request(Box::new(request.clone())));
        let Some(handler) = known else { return ok("arrived") };
        // It may run programs, and take its time.
        tokio::task::spawn_blocking(move || handler(&request)).await.unwrap_or(Reply::Hangup)
    }
}

impl ResolvesServerCert for Sites {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let host = hello.server_name().unwrap_or("nameless.test");
        let proofs = self.proofs.lock().unwrap();
        let how = proofs.get(host).copied().unwrap_or(Certificate::Good);
        Some(self.authority.certificate(host, how))
    }
}

/// Serves HTTP at port 80 and HTTPS at port 443 of every address.
pub(super) async fn serve(sites: &Arc<Sites>, tasks: &TaskTracker) {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let resolver: Arc<dyn ResolvesServerCert> = Arc::<Sites>::clone(sites);
    let settings = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(resolver);
    let acceptor = TlsAcceptor::from(Arc::new(settings));
    for (port, acceptor) in [(80, None), (443, Some(acceptor))] {
        let listener = TcpListener::bind(("::", port)).await.unwrap();
        let (sites, spawner) = (Arc::clone(sites), tasks.clone());
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (sites, acceptor) = (Arc::clone(&sites), acceptor.clone());
                spawner.spawn(async move {
                    let Ok(at) = stream.local_addr().map(canonical) else { return };
                    let _ = stream.set_nodelay(true);
                    let Some(acceptor) = acceptor else {
                        let _ = converse(BufStream::new(stream), &sites, (None, at)).await;
                        return;
                    };
                    let accepted = acceptor.accept(stream).await;
                    let name = accepted
                        .as_ref()
                        .ok()
                        .and_then(|stream| stream.get_ref().1.server_name().map(str::to_owned));
                    sites.seen.add(Arrival::Hello { name: name.clone(), at });
                    let Ok(stream) = accepted else { return };
                    let name = Some(name.unwrap_or_default());
                    let _ = converse(BufStream::new(stream), &sites, (name, at)).await;
                });
            }
        });
    }
}

/// Reads requests, and answers each.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: BufStream<S>,
    sites: &Sites,
    (tls, at): (Option<String>, SocketAddr),
) -> std::io::Result<()> {
    while let Some((first, headers)) = head(&mut stream).await? {
        let mut words = first.split(' ').map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut request =
            Request { tls: tls.clone(), at, method, target, headers, body: Vec::new() };
        if request.header("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            stream.flush().await?;
        }
        request.body = body(&mut stream, &request).await?;
        let closes = request.header("connection") == Some("close");
        match sites.reply(request).await {
            Reply::Bytes(bytes) => {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
                let said = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
                let head = said.split("\r\n\r\n").next().unwrap_or_default();
                let measured = ["content-length:", "chunked", " 204 ", " 304 "];
                let ends = head.contains("connection: close")
                    || !measured.iter().any(|word| head.contains(word));
                if closes || ends {
                    return stream.shutdown().await;
                }
            }
            Reply::Endless(start, again) => {
                stream.write_all(&start).await?;
                loop {
                    stream.write_all(&again).await?;
                    stream.flush().await?;
                }
            }
            Reply::Beats(beats) => match play(&mut stream, beats).await? {
                Next::Request if !closes => {}
                Next::Request => return stream.shutdown().await,
                Next::Nothing => return Ok(()),
            },
            Reply::Silence => return std::future::pending().await,
            Reply::Hangup => return Ok(()),
        }
    }
    Ok(())
}

type Head = (String, Vec<(String, String)>);

/// The first line and the headers, if there is one more request.
async fn head<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufStream<S>,
) -> std::io::Result<Option<Head>> {
    let first = line(stream).await?;
    if first.is_empty() {
        return Ok(None);
    }
    let mut headers = Vec::new();
    loop {
        let next = line(stream).await?;
        if next.is_empty() {
            return Ok(Some((first, headers)));
        }
        let (name, value) = next.split_once(':').unwrap_or((&next, ""));
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

async fn line<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufStream<S>,
) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    stream.read_until(b'\n', &mut bytes).await?;
    Ok(String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned())
}

async fn body<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut BufStream<S>,
    request: &Request,
) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    if let Some(length) = request.header("content-length").and_then(|text| text.parse().ok()) {
        body.resize(length, 0);
        stream.read_exact(&mut body).await?;
    } else if request.header("transfer-encoding").is_some() {
        loop {
            let length = usize::from_str_radix(&line(stream).await?, 16).unwrap_or(0);
            let start = body.len();
            body.resize(start + length, 0);
            stream.read_exact(&mut body[start..]).await?;
            line(stream).await?;
            if length == 0 {
                break;
            }
        }
    }
    Ok(body)
}
