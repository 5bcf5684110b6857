//! Who gets in, and what a stranger's request is answered with.

use std::process::Command;

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
};
use unsupported::unsupported;
use wire::{client::ClientError, error::Code};

use crate::fixture::{Fixture, SECRET};

/// The status of a request as it is, word by word.
async fn raw(fixture: &Fixture, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", fixture.port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_loopback_wants_the_token() {
    let fixture = Fixture::new().await;
    assert!(fixture.loopback(Some(SECRET)).sandboxes().await.is_ok());
    for token in [None, Some("wrong"), Some("")] {
        let error = fixture.loopback(token).sandboxes().await.unwrap_err();
        assert_eq!(error.problem().unwrap().code, Code::Unauthorized);
        let start = wire::exec::StartExec::default();
        let error = fixture.loopback(token).exec("fox", &start).await.unwrap_err();
        assert_eq!(error.problem().unwrap().code, Code::Unauthorized);
    }
    assert!(fixture.loopback(None).health().await.is_ok());
}

#[tokio::test]
async fn a_page_in_a_browser_cannot_call_it() {
    let fixture = Fixture::new().await;
    let port = fixture.port;
    let table = [
        (format!("127.0.0.1:{port}"), String::new(), "200"),
        (format!("localhost:{port}"), String::new(), "200"),
        ("evil.example".to_owned(), String::new(), "403"),
        (format!("evil.example:{port}"), String::new(), "403"),
        (format!("127.0.0.1:{port}"), "Origin: http://evil.example\r\n".to_owned(), "403"),
        (format!("127.0.0.1:{port}"), "Origin: null\r\n".to_owned(), "403"),
        (format!("127.0.0.1:{port}"), "Host: evil.example\r\n".to_owned(), "403"),
    ];
    for (host, more, expected) in table {
        let request = format!(
            "GET /v1/sandboxes HTTP/1.1\r\nHost: {host}\r\n{more}Authorization: Bearer {SECRET}\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(raw(&fixture, &request).await, expected, "{host} {more}");
    }
}

#[tokio::test]
async fn long_and_unknown_requests_are_refused() {
    let fixture = Fixture::new().await;
    let mut stream = UnixStream::connect(fixture.socket()).await.unwrap();
    let body = format!("{{\"name\": \"{}\"}}", "x".repeat(2 << 20));
    let head = "POST /v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    // The server may hang up before it has read all.
    drop(stream.write_all(request.as_bytes()).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    assert!(answer.starts_with(b"HTTP/1.1 413") || answer.is_empty());
    let authorized = format!(
        "Host: 127.0.0.1:{}\r\nAuthorization: Bearer {SECRET}\r\nConnection: close\r\n\r\n",
        fixture.port
    );
    assert_eq!(raw(&fixture, &format!("GET /v2 HTTP/1.1\r\n{authorized}")).await, "404");
    assert_eq!(raw(&fixture, &format!("PUT /v1/health HTTP/1.1\r\n{authorized}")).await, "405");
}

/// Returns when whoever is silent after these words is hung up on, and says what they heard.
async fn hung_up_on(mut stream: impl AsyncRead + AsyncWrite + Unpin, words: &str) -> String {
    stream.write_all(words.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let listening = stream.read_to_string(&mut answer);
    let far_longer = std::time::Duration::from_mins(1);
    // A server may also reset the connection: that is hanging up too.
    drop(tokio::time::timeout(far_longer, listening).await.expect("it holds its place for ever"));
    answer
}

#[tokio::test]
async fn who_sends_half_a_head_is_hung_up_on_and_who_is_served_is_not() {
    let fixture = Fixture::new().await;
    let made = fixture.client().create(&wire::sandbox::CreateSandbox::default()).await.unwrap();
    let start = wire::exec::StartExec { argv: vec!["cat".to_owned()], ..Default::default() };
    let (talking, mut hearing) =
        fixture.loopback(Some(SECRET)).exec(&made.id, &start).await.unwrap();
    for words in ["", "GET /v1/hea", "GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "] {
        let loopback = TcpStream::connect(("127.0.0.1", fixture.port)).await.unwrap();
        let socket = UnixStream::connect(fixture.socket()).await.unwrap();
        let heard = tokio::join!(hung_up_on(loopback, words), hung_up_on(socket, words));
        let is_no_answer = |heard: &str| heard.is_empty() || heard.starts_with("HTTP/1.1 408");
        assert!(is_no_answer(&heard.0) && is_no_answer(&heard.1), "{heard:?}");
    }
    // Meanwhile a conversation went on that had nothing to say.
    talking.input(b"still here").await.unwrap();
    let heard = hearing.next().await.unwrap();
    assert_eq!(heard, wire::client::ExecEvent::Out(b"still here".to_vec().into()));
}

#[tokio::test]
async fn no_server_is_told_from_a_refusal() {
    let fixture = Fixture::new().await;
    let gone = fixture.socket().with_file_name("gone.sock");
    let client = wire::client::Client::new(wire::client::Endpoint::Unix(gone));
    assert!(matches!(client.health().await, Err(ClientError::NoServer { .. })));
}

/// Needs root to become somebody else, and Python to knock as somebody else.
#[tokio::test]
async fn another_user_is_hung_up_on_even_if_the_socket_lets_them() {
    use std::os::unix::process::CommandExt as _;
    let has_python = Command::new("python3").arg("--version").output().is_ok();
    if !rustix::process::geteuid().is_root() || !has_python {
        unsupported!("only root can knock as another user, with `python3`");
    }
    let fixture = Fixture::new().await;
    fixture.open_to_all();
    let knock = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); \
                 s.sendall(b'GET /v1/health HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n'); print(len(s.recv(100)))";
    let knock_as = |uid: u32| {
        let socket = fixture.socket();
        tokio::task::spawn_blocking(move || {
            let mut python = Command::new("python3");
            python.args(["-c", knock]).arg(socket).uid(uid);
            String::from_utf8(python.output().unwrap().stdout).unwrap()
        })
    };
    assert_eq!(knock_as(0).await.unwrap(), "100\n");
    let heard = knock_as(65_534).await.unwrap();
    assert!(heard == "0\n" || heard.is_empty(), "{heard}");
}
