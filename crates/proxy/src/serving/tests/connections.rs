//! The ways in: CONNECT, absolute form, SOCKS, and programs that know of no proxy.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_util::task::TaskTracker;

use super::stage::{Host, Stage, inspecting, ok, read_all, read_head, refused};
use crate::ask::{Answer, Outcome, Question, RefusalCode, Scheme, Way};

#[tokio::test(flavor = "multi_thread")]
async fn curl_reaches_an_allowed_host_through_connect_with_one_report() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, "api.ok.test", |_request| ok("hello")).await;
    let grant = host.grant("api.ok.test");
    let mut stage =
        Stage::new(inspecting("api.ok.test", move |_| Answer::Granted(grant.clone()))).await;
    let curled = stage.curl(&["https://api.ok.test/v1/things?x=1"]).await;
    assert_eq!(curled.out, "hello", "{}", curled.said);
    let report = stage.report().await;
    assert_eq!(report.outcome, Outcome::Done { status: Some(200) });
    assert_eq!(report.request, Some(("GET".to_owned(), "/v1/things".to_owned())));
    assert_eq!((report.host.as_str(), report.port, report.way), ("api.ok.test", 443, Way::Connect));
    assert_eq!(report.address, Some(host.at.ip()));
    assert!(report.bytes_up > 0 && report.bytes_down > 5 && report.first_byte_millis.is_some());
    let asked = host.asked();
    assert!(asked[0].starts_with("GET /v1/things?x=1 HTTP/1.1\r\n"), "{asked:?}");
    for name in ["via", "x-forwarded-for", "proxy-connection"] {
        assert!(!asked[0].to_lowercase().contains(name), "{asked:?}");
    }
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_connect_shows_the_sentence_and_is_reported_once() {
    let mut stage = Stage::new(inspecting("api.ok.test", |request| refused(&request.host))).await;
    let curled = stage.curl(&["https://evil.test/"]).await;
    assert_eq!(curled.code, Some(56), "{}", curled.said);
    assert!(
        curled.said.contains(
            "Lamp-Denied: Lamplighter refused evil.test:443 in implement: no rule allows it."
        ),
        "{}",
        curled.said
    );
    assert_eq!(stage.refusal().await.code, RefusalCode::NotAllowed);
    assert_eq!(stage.questions().len(), 1);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_request_in_absolute_form_is_carried_and_its_neighbour_is_judged_anew() {
    let tasks = TaskTracker::new();
    let host = Host::plain(&tasks, |_request| ok("plain")).await;
    let grant = host.grant("api.ok.test");
    let mut stage =
        Stage::new(inspecting("api.ok.test", move |_| Answer::Granted(grant.clone()))).await;
    let curled =
        stage.curl(&["http://api.ok.test/a", "http://evil.test/b", "http://api.ok.test/c"]).await;
    assert!(curled.out.starts_with("plain"), "{curled:?}");
    assert!(curled.out.contains("Lamplighter refused evil.test:443"), "{curled:?}");
    assert!(curled.out.ends_with("plain"), "{curled:?}");
    let asked = host.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].starts_with("GET /a HTTP/1.1\r\nHost: api.ok.test"), "{asked:?}");
    for status in [Some(200), None, Some(200)] {
        let report = stage.report().await;
        assert_eq!(report.way, Way::AbsoluteForm);
        match status {
            Some(_) => assert_eq!(report.outcome, Outcome::Done { status }),
            None => assert!(matches!(report.outcome, Outcome::Refused(_)), "{report:?}"),
        }
    }
    let request = stage.questions().into_iter().find_map(|question| match question {
        Question::Request(request) => Some(*request),
        Question::Connect(_) | Question::Name { .. } => None,
    });
    assert_eq!(request.unwrap().scheme, Scheme::Http);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_are_not_plain_names_are_refused_before_anybody_is_asked() {
    let mut stage = Stage::new(inspecting("api.ok.test", |request| refused(&request.host))).await;
    let long = format!("{}.test:443", "a".repeat(250));
    let table: [(&str, &str); 24] = [
        ("127.0.0.1:443", "403"),
        ("2130706433:443", "403"),
        ("0177.1:443", "403"),
        ("0x7f.1:443", "403"),
        ("127.1:443", "403"),
        ("[::1]:443", "403"),
        ("[fe80::1%25eth0]:443", "400"),
        ("169.254.169.254:80", "403"),
        ("[fd00:ec2::254]:80", "403"),
        ("100.100.100.200:80", "403"),
        ("168.63.129.16:80", "403"),
        ("api.ok.test.:443", "400"),
        ("api%2eok.test:443", "400"),
        ("user@api.ok.test:443", "400"),
        ("api.ok.test#x:443", "400"),
        ("api.ok.test:0443", "400"),
        ("api.ok.test:70000", "400"),
        ("api.ok.test", "400"),
        ("api\x00.ok.test:443", "400"),
        ("api\r.ok.test:443", "400"),
        ("\u{430}pi.ok.test:443", "400"),
        ("xn--a.test:443", "400"),
        ("-a.test:443", "400"),
        (&long, "400"),
    ];
    for (target, status) in table {
        let head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        let answer = stage.say(stage.proxy, head.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target:?}: {answer}");
        stage.refusal().await;
    }
    assert!(stage.questions().is_empty(), "{:?}", stage.questions());
    // The control: the same head with a plain name is asked about.
    let head = "CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n";
    let answer = stage.say(stage.proxy, head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(stage.questions().len(), 1);
    stage.refusal().await;
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn capital_letters_are_the_same_host() {
    let stage = Stage::new(inspecting("api.ok.test", |request| refused(&request.host))).await;
    stage.tunnel("API.Ok.Test:443").await;
    let Question::Connect(connect) = stage.questions().remove(0) else { panic!("not a connect") };
    assert_eq!(connect.host, "api.ok.test");
}

#[tokio::test(flavor = "multi_thread")]
async fn curl_reaches_a_host_through_socks_by_its_name() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, "api.ok.test", |_request| ok("by socks")).await;
    let grant = host.grant("api.ok.test");
    let mut stage =
        Stage::new(inspecting("api.ok.test", move |_| Answer::Granted(grant.clone()))).await;
    let socks = format!("socks5h://{}", stage.socks);
    let curled = stage.plain_curl(&["--proxy", &socks, "https://api.ok.test/"]).await;
    assert_eq!(curled.out, "by socks", "{}", curled.said);
    assert_eq!(stage.report().await.way, Way::Socks);
    let curled = stage.plain_curl(&["--proxy", &socks, "https://evil.test/"]).await;
    assert_ne!(curled.code, Some(0));
    assert!(curled.said.contains("(2)"), "{}", curled.said);
    assert_eq!(stage.refusal().await.code, RefusalCode::NotAllowed);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn socks_names_with_strange_bytes_never_reach_the_broker() {
    let mut stage = Stage::new(inspecting("api.ok.test", |request| refused(&request.host))).await;
    for name in ["attacker\0.google.com", "a b.test", "a\r\n.test", "127.1", "a@b.test", "a.test."]
    {
        let mut stream = TcpStream::connect(stage.socks).await.unwrap();
        stream.write_all(&[5, 1, 0]).await.unwrap();
        let mut welcome = [0; 2];
        stream.read_exact(&mut welcome).await.unwrap();
        assert_eq!(welcome, [5, 0]);
        let mut request = vec![5, 1, 0, 3, u8::try_from(name.len()).unwrap()];
        request.extend_from_slice(name.as_bytes());
        request.extend_from_slice(&443_u16.to_be_bytes());
        stream.write_all(&request).await.unwrap();
        let mut reply = [0; 10];
        stream.read_exact(&mut reply).await.unwrap();
        assert_eq!(reply[1], 2, "{name:?}");
        stage.refusal().await;
    }
    // An address that we did not make is no name either.
    let mut stream = TcpStream::connect(stage.socks).await.unwrap();
    stream.write_all(&[5, 1, 0, 5, 1, 0, 1, 169, 254, 169, 254, 0, 80]).await.unwrap();
    let mut replies = [0; 12];
    stream.read_exact(&mut replies).await.unwrap();
    assert_eq!(replies[3], 2);
    assert_eq!(stage.refusal().await.code, RefusalCode::Address);
    assert!(stage.questions().is_empty());
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_a_proxy_is_known_by_its_server_name_and_never_by_its_address() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, "api.ok.test", |_request| ok("seen")).await;
    let grant = host.grant("api.ok.test");
    let mut stage =
        Stage::new(inspecting("api.ok.test", move |_| Answer::Granted(grant.clone()))).await;
    let resolve = format!("api.ok.test:443:{}", stage.port_443.ip());
    let connect = format!("api.ok.test:443:127.0.0.1:{}", stage.port_443.port());
    let curled = stage
        .plain_curl(&["--resolve", &resolve, "--connect-to", &connect, "https://api.ok.test/"])
        .await;
    assert_eq!(curled.out, "seen", "{}", curled.said);
    let report = stage.report().await;
    assert_eq!((report.way, report.port), (Way::Transparent, 443));
    // A refused name is told inside TLS, in a certificate that the program believes.
    let connect = format!("evil.test:443:127.0.0.1:{}", stage.port_443.port());
    let curled = stage.plain_curl(&["--connect-to", &connect, "https://evil.test/"]).await;
    assert_eq!(curled.code, Some(0), "{}", curled.said);
    assert!(curled.out.contains("Lamplighter refused evil.test:443"), "{}", curled.out);
    assert_eq!(stage.refusal().await.code, RefusalCode::NotAllowed);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_program_without_a_proxy_is_known_by_its_host_header() {
    let tasks = TaskTracker::new();
    let host = Host::plain(&tasks, |_request| ok("plain")).await;
    let grant = host.grant("api.ok.test");
    let mut stage =
        Stage::new(inspecting("api.ok.test", move |_| Answer::Granted(grant.clone()))).await;
    let connect = format!("api.ok.test:80:127.0.0.1:{}", stage.port_80.port());
    let curled = stage.plain_curl(&["--connect-to", &connect, "http://api.ok.test/"]).await;
    assert_eq!(curled.out, "plain", "{}", curled.said);
    assert_eq!(stage.report().await.outcome, Outcome::Done { status: Some(200) });
    for nonsense in
        ["SSH-2.0-OpenSSH_9\r\n\r\n", "\0\0\0\x08\x04\x52\x16\x2f", "GET / HTTP/1.1\r\n\r\n"]
    {
        let answer = stage.say(stage.port_80, nonsense.as_bytes()).await;
        assert!(!answer.starts_with("HTTP/1.1 200"), "{nonsense:?}: {answer}");
        assert!(!matches!(stage.report().await.outcome, Outcome::Done { .. }), "{nonsense:?}");
    }
    assert_eq!(host.asked().len(), 1);
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opaque_tunnel_carries_bytes_both_ways_with_one_report() {
    let tasks = TaskTracker::new();
    let host = Host::tls(&tasks, "db.ok.test", |_request| ok("unseen")).await;
    let grant = host.grant("db.ok.test");
    let mut stage = Stage::new(move |_| Some(Answer::Opaque(grant.clone()))).await;
    let tunnel = stage.tunnel("db.ok.test:443").await;
    let settings = super::stage::client(host.authority.as_ref().unwrap());
    let name = rustls::pki_types::ServerName::try_from("db.ok.test").unwrap();
    let mut tls = tokio_rustls::TlsConnector::from(settings).connect(name, tunnel).await.unwrap();
    tls.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(read_head(&mut tls).await.starts_with("HTTP/1.1 200"));
    let mut body = [0; 6];
    tls.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b"unseen");
    tls.shutdown().await.unwrap();
    drop(tls);
    let report = stage.report().await;
    assert_eq!(report.outcome, Outcome::Done { status: None }, "{report:?}");
    assert!(report.bytes_up > 200 && report.bytes_down > 500, "{report:?}");
    stage.no_more_reports().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_rules_change_a_tunnel_that_they_refuse_is_closed() {
    let tasks = TaskTracker::new();
    let host = Host::plain(&tasks, |_request| ok("x")).await;
    let grant = host.grant("db.ok.test");
    let is_allowed = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let looked = std::sync::Arc::clone(&is_allowed);
    let mut stage = Stage::new(move |_| {
        let is_allowed = looked.load(std::sync::atomic::Ordering::SeqCst);
        Some(if is_allowed { Answer::Opaque(grant.clone()) } else { refused("db.ok.test") })
    })
    .await;
    let mut tunnel = stage.tunnel("db.ok.test:443").await;
    tunnel.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(read_head(&mut tunnel).await.starts_with("HTTP/1.1 200"));
    // Asked again and allowed again: it stays.
    stage.link.changed(super::stage::WHOSE, 2).await.unwrap();
    stage.asked(2).await;
    tunnel.read_u8().await.unwrap();
    tunnel.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    assert!(read_head(&mut tunnel).await.starts_with("HTTP/1.1 200"));
    is_allowed.store(false, std::sync::atomic::Ordering::SeqCst);
    stage.link.changed(super::stage::WHOSE, 3).await.unwrap();
    read_all(&mut tunnel).await;
    assert_eq!(stage.refusal().await.code, RefusalCode::NotAllowed);
    assert_eq!(stage.questions().len(), 3);
    stage.no_more_reports().await;
}
