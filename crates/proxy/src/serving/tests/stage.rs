//! A gateway that serves one or two sandboxes, a broker that follows a script, and hosts that remember what they were asked.

use std::{
    net::{IpAddr, SocketAddr},
    os::fd::OwnedFd,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use domain::{id::SandboxId, policy::HostName, time::Timestamp};
use rustls::{RootCertStore, ServerConfig};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::mpsc,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use crate::{
    ask::{
        Answer, Authority, Body, Dial, DoorNumber, Exchange, Grant, Outcome, Question, Refusal,
        RefusalCode, Report, Scheme, Secret, ToBroker, Upgrade, Whose,
    },
    certificates::{self, Leafs},
    link::{GatewayLink, LinkError},
    serving::{
        Settings,
        reach::{Reach, Resolver},
        serve,
    },
};

pub(super) const PATIENCE: Duration = Duration::from_secs(20);

type Script = dyn Fn(&Question) -> Option<Answer> + Send + Sync;

/// The gateway, the broker, and the doors of one sandbox.
pub(super) struct Stage {
    pub(super) link: GatewayLink,
    pub(super) authority: Authority,
    pub(super) proxy: SocketAddr,
    pub(super) socks: SocketAddr,
    pub(super) port_443: SocketAddr,
    pub(super) port_80: SocketAddr,
    pub(super) names: SocketAddr,
    pub(super) names_tcp: SocketAddr,
    pub(super) serving: tokio::task::JoinHandle<Result<(), LinkError>>,
    questions: Arc<Mutex<Vec<Question>>>,
    reports: mpsc::UnboundedReceiver<(Exchange, Whose, Report)>,
    _files: tempfile::TempDir,
    pub(super) authority_file: std::path::PathBuf,
}

pub(super) const WHOSE: Whose = Whose(7);

pub(super) fn now() -> Timestamp {
    crate::serving::clock::now()
}

pub(super) fn sandbox_id(number: u128) -> SandboxId {
    SandboxId::from_u128(number)
}

impl Stage {
    pub(super) async fn new(
        script: impl Fn(&Question) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        Self::with_resolver(script, |_host| Vec::new()).await
    }

    pub(super) async fn with_resolver(
        script: impl Fn(&Question) -> Option<Answer> + Send + Sync + 'static,
        resolver: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        let tasks = TaskTracker::new();
        let (gateway, server) = std::os::unix::net::UnixStream::pair().unwrap();
        let (link, mut heard) = GatewayLink::open(server, &tasks).unwrap();
        let reach = Reach::new(Resolver::Scripted(Box::new(resolver)), RootCertStore::empty());
        let serving = tasks.spawn(serve(gateway, Settings::scripted(reach)));
        assert_eq!(heard.next().await.unwrap(), Some(ToBroker::Ready));

        let questions: Arc<Mutex<Vec<Question>>> = Arc::default();
        let (tell, reports) = mpsc::unbounded_channel();
        let (answering, asked) = (link.clone(), Arc::clone(&questions));
        let script: Arc<Script> = Arc::new(script);
        tasks.spawn(async move {
            while let Ok(Some(message)) = heard.next().await {
                match message {
                    ToBroker::Ready => {}
                    ToBroker::Ask { exchange, question, .. } => {
                        let answer = script(&question);
                        asked.lock().unwrap().push(question);
                        if let Some(answer) = answer {
                            answering.answer(exchange, answer).await.unwrap();
                        }
                    }
                    ToBroker::Ended { exchange, whose, report } => {
                        let _ = tell.send((exchange, whose, *report));
                    }
                }
            }
        });
        let authority = certificates::make(sandbox_id(7), now()).unwrap();
        let files = tempfile::tempdir().unwrap();
        let authority_file = files.path().join("ca.pem");
        std::fs::write(&authority_file, &authority.certificate).unwrap();
        let doors = Doors::open();
        let stage = Self {
            link,
            authority: authority.clone(),
            proxy: doors.at[0],
            socks: doors.at[1],
            port_443: doors.at[2],
            port_80: doors.at[3],
            names_tcp: doors.at[4],
            names: doors.names,
            serving,
            questions,
            reports,
            _files: files,
            authority_file,
        };
        stage.link.join(WHOSE, doors.numbered, authority).await.unwrap();
        stage
    }

    /// Another sandbox at the same gateway.
    pub(super) async fn neighbour(&self, whose: Whose) -> SocketAddr {
        let doors = Doors::open();
        let authority = certificates::make(sandbox_id(whose.0), now()).unwrap();
        let at = doors.at[0];
        self.link.join(whose, doors.numbered, authority).await.unwrap();
        at
    }

    pub(super) fn questions(&self) -> Vec<Question> {
        self.questions.lock().unwrap().clone()
    }

    /// Waits until the broker was asked so many questions.
    pub(super) async fn asked(&self, count: usize) {
        let mut look = tokio::time::interval(Duration::from_millis(10));
        let looking = async {
            while self.questions().len() < count {
                look.tick().await;
            }
        };
        timeout(PATIENCE, looking).await.expect("a question in time");
    }

    /// The next report, and who it is of.
    pub(super) async fn report(&mut self) -> Report {
        timeout(PATIENCE, self.reports.recv()).await.expect("a report in time").unwrap().2
    }

    /// The next report, which is of a refusal.
    pub(super) async fn refusal(&mut self) -> Refusal {
        match self.report().await.outcome {
            Outcome::Refused(refusal) => refusal,
            other @ (Outcome::Done { .. } | Outcome::Broken { .. }) => {
                panic!("a refusal was expected, and it was {other:?}")
            }
        }
    }

    /// Shows that there are no more reports: the sandbox leaves, and the next report is of another that comes after it.
    pub(super) async fn no_more_reports(mut self) {
        const OTHER: Whose = Whose(77);
        self.link.leave(WHOSE).await.unwrap();
        let door = self.neighbour(OTHER).await;
        self.say(door, b"CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n").await;
        let next = timeout(PATIENCE, self.reports.recv()).await.expect("a report").unwrap();
        assert_eq!(next.1, OTHER, "{:#?}", next.2);
    }

    /// Runs curl through the proxy. Gives its output, and what it said.
    pub(super) async fn curl(&self, arguments: &[&str]) -> Curled {
        let proxy = format!("http://{}", self.proxy);
        let mut all = vec!["--proxy", proxy.as_str()];
        all.extend(arguments);
        self.plain_curl(&all).await
    }

    pub(super) async fn plain_curl(&self, arguments: &[&str]) -> Curled {
        let running = Command::new("curl")
            .args(["--silent", "--show-error", "--verbose", "--max-time", "20", "--cacert"])
            .arg(&self.authority_file)
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .output();
        let done = timeout(PATIENCE, running).await.expect("curl ends").unwrap();
        Curled {
            out: String::from_utf8_lossy(&done.stdout).into_owned(),
            said: String::from_utf8_lossy(&done.stderr).into_owned(),
            code: done.status.code(),
        }
    }

    /// Says something to a door and reads until it closes.
    pub(super) async fn say(&self, door: SocketAddr, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(door).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        read_all(&mut stream).await
    }

    /// Opens a tunnel with CONNECT, which must succeed.
    pub(super) async fn tunnel(&self, place: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.proxy).await.unwrap();
        let head = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let answer = read_head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        stream
    }

    /// The same, with TLS inside that believes the sandbox's authority.
    pub(super) async fn tls_tunnel(
        &self,
        place: &str,
        name: &str,
    ) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
        let stream = self.tunnel(place).await;
        self.handshake(stream, name).await
    }

    pub(super) async fn handshake(
        &self,
        stream: TcpStream,
        name: &str,
    ) -> std::io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
        let settings = client(&self.authority.certificate);
        let name = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
        tokio_rustls::TlsConnector::from(settings).connect(name, stream).await
    }
}

pub(super) fn client(pem: &str) -> Arc<rustls::ClientConfig> {
    use rustls::pki_types::{CertificateDer, pem::PemObject as _};
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let settings = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(settings)
}

struct Doors {
    numbered: Vec<(DoorNumber, OwnedFd)>,
    at: Vec<SocketAddr>,
    names: SocketAddr,
}

impl Doors {
    fn open() -> Self {
        let numbers = [
            DoorNumber::Proxy,
            DoorNumber::Socks,
            DoorNumber::Port(443),
            DoorNumber::Port(80),
            DoorNumber::NamesOverTcp,
        ];
        let mut doors = Vec::new();
        let mut at = Vec::new();
        for number in numbers {
            let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            at.push(door.local_addr().unwrap());
            doors.push((number, OwnedFd::from(door)));
        }
        let names = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = names.local_addr().unwrap();
        doors.push((DoorNumber::Names, OwnedFd::from(names)));
        Self { numbered: doors, at, names: address }
    }
}

#[derive(Debug)]
pub(super) struct Curled {
    pub(super) out: String,
    pub(super) said: String,
    pub(super) code: Option<i32>,
}

pub(super) async fn read_all<R: AsyncRead + Unpin>(stream: &mut R) -> String {
    let mut all = Vec::new();
    let reading = stream.read_to_end(&mut all);
    // A connection that is cut has still said what it said.
    let _ = timeout(PATIENCE, reading).await.expect("the connection ends");
    String::from_utf8_lossy(&all).into_owned()
}

pub(super) async fn read_head<R: AsyncRead + Unpin>(stream: &mut R) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let reading = stream.read_u8();
        match timeout(PATIENCE, reading).await.expect("a head in time") {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A host outside, which remembers what it was asked.
pub(super) struct Host {
    pub(super) at: SocketAddr,
    pub(super) authority: Option<String>,
    asked: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

/// What a host does with a request.
pub(super) type Reply = dyn Fn(&str) -> Vec<u8> + Send + Sync;

impl Host {
    /// A host that answers all requests in plain HTTP.
    pub(super) async fn plain(
        tasks: &TaskTracker,
        reply: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        Self::start(tasks, None, Arc::new(reply)).await
    }

    /// The same inside TLS, as `name`, with an authority of its own.
    pub(super) async fn tls(
        tasks: &TaskTracker,
        name: &str,
        reply: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let authority = certificates::make(sandbox_id(99), now()).unwrap();
        let leafs = Leafs::new(&authority).unwrap();
        let name: HostName = name.parse().unwrap();
        let certificate = leafs.certificate_for(&name, now()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let settings = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(
                (*certificate).clone(),
            )));
        let tls = Some((TlsAcceptor::from(Arc::new(settings)), authority.certificate));
        Self::start(tasks, tls, Arc::new(reply)).await
    }

    pub(super) async fn start(
        tasks: &TaskTracker,
        tls: Option<(TlsAcceptor, String)>,
        reply: Arc<Reply>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let (acceptor, authority) = tls.unzip();
        let host = Self { at, authority, asked: Arc::default(), connections: Arc::default() };
        let (asked, connections) = (Arc::clone(&host.asked), Arc::clone(&host.connections));
        let spawner = tasks.clone();
        tasks.spawn(async move {
            while let Ok((stream, _peer)) = listener.accept().await {
                *connections.lock().unwrap() += 1;
                let (asked, reply, acceptor) =
                    (Arc::clone(&asked), Arc::clone(&reply), acceptor.clone());
                spawner.spawn(async move {
                    match acceptor {
                        None => converse(stream, &asked, &*reply).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                converse(stream, &asked, &*reply).await;
                            }
                        }
                    }
                });
            }
        });
        host
    }

    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    pub(super) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    /// A grant to ask this host, whatever it was called.
    pub(super) fn grant(&self, host: &str) -> Grant {
        let scheme = if self.authority.is_some() { Scheme::Https } else { Scheme::Http };
        Grant {
            generation: 1,
            rule: format!("{host}:443"),
            dial: Dial::Pinned {
                host: host.to_owned(),
                port: self.at.port(),
                addresses: vec![self.at.ip()],
                authority: self.authority.clone(),
            },
            scheme,
            target: None,
            strip: Vec::new(),
            set: Vec::new(),
            swaps: Vec::new(),
            scrub: Vec::new(),
            body: Body::Relay,
            upgrade: Upgrade::Refused,
            meter: None,
            most_up: 1 << 40,
            most_down: 1 << 40,
        }
    }
}

/// Reads requests and answers each.
async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    asked: &Mutex<Vec<String>>,
    reply: &Reply,
) {
    loop {
        let head = read_head(&mut stream).await;
        if head.is_empty() {
            return;
        }
        let mut request = head.clone();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length").then(|| value.parse::<usize>().unwrap())
        });
        if let Some(length) = length {
            let mut body = vec![0; length];
            if stream.read_exact(&mut body).await.is_err() {
                return;
            }
            request.push_str(&String::from_utf8_lossy(&body));
        }
        if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            let mut body = Vec::new();
            while !body.ends_with(b"0\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => body.push(byte),
                    Err(_) => return,
                }
            }
            request.push_str(&String::from_utf8_lossy(&body));
        }
        let answer = reply(&request);
        asked.lock().unwrap().push(request);
        if stream.write_all(&answer).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        let head = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        if head.contains("connection: close") {
            let _ = stream.shutdown().await;
            return;
        }
    }
}

/// `200` with this body.
pub(super) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub(super) fn refused(host: &str) -> Answer {
    Answer::Refused(Refusal {
        status: 403,
        code: RefusalCode::NotAllowed,
        host: host.to_owned(),
        port: 443,
        phase: "implement".to_owned(),
        rule: None,
        reason: "no rule allows it".to_owned(),
        remedy: "Add it to the policy.".to_owned(),
    })
}

pub(super) fn secret(value: &str) -> Secret {
    Secret(value.to_owned())
}

/// A script that inspects connections to one host, and grants its requests as `grant` says.
pub(super) fn inspecting(
    host: &'static str,
    grant: impl Fn(&crate::ask::Request) -> Answer + Send + Sync + 'static,
) -> impl Fn(&Question) -> Option<Answer> + Send + Sync + 'static {
    move |question| {
        Some(match question {
            Question::Connect(connect) if connect.host == host => Answer::Inspect { generation: 1 },
            Question::Request(request) if request.host == host => grant(request),
            Question::Connect(connect) => refused(&connect.host),
            Question::Request(request) => refused(&request.host),
            Question::Name { host: name } if name == host => Answer::Known { generation: 1 },
            Question::Name { host } => refused(host),
        })
    }
}
