//! Names are answered with addresses of our making, and with nothing else.

use std::net::Ipv4Addr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UdpSocket},
    time::timeout,
};
use tokio_util::task::TaskTracker;

use super::stage::{Host, PATIENCE, Stage, WHOSE, inspecting, ok, read_all, refused};
use crate::ask::{Answer, Question, RefusalCode, Way};

/// A question of this kind for a name.
fn question(name: &str, kind: u16) -> Vec<u8> {
    let mut out = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        out.push(u8::try_from(label.len()).unwrap());
        out.extend(label.as_bytes());
    }
    out.push(0);
    out.extend(kind.to_be_bytes());
    out.extend([0, 1]);
    out
}

async fn ask(stage: &Stage, message: &[u8]) -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(stage.names).await.unwrap();
    socket.send(message).await.unwrap();
    let mut answer = vec![0; 1500];
    let count = timeout(PATIENCE, socket.recv(&mut answer)).await.expect("an answer").unwrap();
    answer.truncate(count);
    answer
}

/// The address at the end of an answer with one record.
fn address(answer: &[u8]) -> Ipv4Addr {
    assert_eq!(answer[3] & 15, 0, "no error: {answer:?}");
    assert_eq!(answer[7], 1, "one answer: {answer:?}");
    let octets: [u8; 4] = answer[answer.len() - 4..].try_into().unwrap();
    octets.into()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_name_gets_an_address_that_means_it_until_the_rules_change() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, "api.ok.test", |_request| ok("by address")).await;
    let grant = host.grant("api.ok.test");
    let mut stage =
        Stage::new(inspecting("api.ok.test", move |_| Answer::Granted(grant.clone()))).await;
    let first = address(&ask(&stage, &question("api.ok.test", 1)).await);
    assert_eq!(first.octets()[..2], [198, 18]);
    assert_eq!(address(&ask(&stage, &question("API.ok.test", 1)).await), first);

    // The address is the name: by SOCKS it is judged and dialled as the name.
    let connect = |at: Ipv4Addr| {
        let mut bytes = vec![5, 1, 0, 5, 1, 0, 1];
        bytes.extend(at.octets());
        bytes.extend(443_u16.to_be_bytes());
        bytes
    };
    let mut stream = TcpStream::connect(stage.socks).await.unwrap();
    stream.write_all(&connect(first)).await.unwrap();
    let mut replies = [0; 12];
    stream.read_exact(&mut replies).await.unwrap();
    assert_eq!(replies[3], 0);
    let mut tls = stage.handshake(stream, "api.ok.test").await.unwrap();
    tls.write_all(b"GET / HTTP/1.1\r\nHost: api.ok.test\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    assert!(read_all(&mut tls).await.ends_with("by address"));
    let report = stage.report().await;
    assert_eq!((report.host.as_str(), report.way), ("api.ok.test", Way::Socks));

    // Another name in the handshake is not what the address means.
    let mut stream = TcpStream::connect(stage.socks).await.unwrap();
    stream.write_all(&connect(first)).await.unwrap();
    stream.read_exact(&mut replies).await.unwrap();
    let mut tls = stage.handshake(stream, "evil.test").await.unwrap();
    tls.write_all(b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n").await.unwrap();
    assert!(read_all(&mut tls).await.starts_with("HTTP/1.1 421 "));
    assert_eq!(stage.refusal().await.code, RefusalCode::Mismatch);

    stage.link.changed(WHOSE, 2).await.unwrap();
    // The broker's answers are of generation 1 still, so that nothing is known any more.
    let mut look = tokio::time::interval(std::time::Duration::from_millis(20));
    while ask(&stage, &question("api.ok.test", 1)).await[3] & 15 != 2 {
        look.tick().await;
    }
    let mut stream = TcpStream::connect(stage.socks).await.unwrap();
    stream.write_all(&connect(first)).await.unwrap();
    stream.read_exact(&mut replies).await.unwrap();
    assert_eq!(replies[3], 2);
    let refusal = stage.refusal().await;
    assert!(refusal.reason.contains("look the name up again"), "{refusal:?}");
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_name_does_not_exist_and_other_records_are_not_there() {
    let stage = Stage::new(inspecting("api.ok.test", |request| refused(&request.host))).await;
    let answer = ask(&stage, &question("secret-data.evil.test", 1)).await;
    assert_eq!(answer[3] & 15, 3, "no such name");
    for kind in [28, 16, 65, 255] {
        let answer = ask(&stage, &question("api.ok.test", kind)).await;
        assert_eq!((answer[3] & 15, answer[7]), (0, 0), "kind {kind}");
    }
    let malformed = ask(&stage, &[0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1]).await;
    assert_eq!(malformed[3] & 15, 1, "format error");
    let asked = stage.questions();
    assert!(asked.iter().all(|question| matches!(question, Question::Name { .. })), "{asked:?}");
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_kinds_of_address_of_a_refused_name_are_one_attempt() {
    let stage = Stage::new(inspecting("api.ok.test", |request| refused(&request.host))).await;
    let (four, six) = (question("evil.test", 1), question("EVIL.test", 28));
    // As resolvers do, both at once.
    let (four, six) = tokio::join!(ask(&stage, &four), ask(&stage, &six));
    assert_eq!((four[3] & 15, six[3] & 15), (3, 3), "no such name");
    assert_eq!(stage.questions(), [Question::Name { host: "evil.test".to_owned() }]);
    // The control: another name is another attempt.
    ask(&stage, &question("other.evil.test", 1)).await;
    assert_eq!(stage.questions().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_answered_over_tcp_too() {
    let stage = Stage::new(inspecting("api.ok.test", |request| refused(&request.host))).await;
    let message = question("api.ok.test", 1);
    let mut stream = TcpStream::connect(stage.names_tcp).await.unwrap();
    for _ in 0..2 {
        stream.write_u16(u16::try_from(message.len()).unwrap()).await.unwrap();
        stream.write_all(&message).await.unwrap();
        let length = stream.read_u16().await.unwrap();
        let mut answer = vec![0; usize::from(length)];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(address(&answer).octets()[..2], [198, 18]);
    }
}
