//! Requests that say one thing to us and another to the host: heads, names, versions, lengths.

use std::fmt::Write as _;

use tests::internet::{Arrival, House, Reply};

use crate::ground::{
    Attempt, Control, Ground, PROXY, SOCKS, attempt, curl, on_the_internet, probe, probing, texts,
    tls,
};

const POLICY: &str = "
version: 1
egress:
  implement:
    allow:
      - { host: ok.test, methods: [GET, HEAD, POST], paths: [/**] }
      - { host: reading.test }
      - { host: plain.test, ports: [80], methods: [GET, POST] }
      - { host: opaque.test, opaque: true }
      - { host: big.test }
    deny:
      - { host: ok.test, methods: [GET, HEAD, POST], paths: [/denied/**] }
";

const WISHES: [&str; 10] = [
    "--allow",
    "{ host: ok.test, methods: [GET, HEAD, POST], paths: [/**] }",
    "--allow",
    "reading.test",
    "--allow",
    "{ host: plain.test, ports: [80], methods: [GET, POST] }",
    "--allow",
    "{ host: opaque.test, opaque: true }",
    "--allow",
    "big.test",
];

const FINE: &str = "GET /fine HTTP/1.1\\r\\nHost: ok.test\\r\\nConnection: close\\r\\n\\r\\n";
/// What an attacker hides behind the first request.
const HIDDEN: &str = "GET /denied/x HTTP/1.1\\r\\nHost: ok.test\\r\\nConnection: close\\r\\n\\r\\n";

fn fine() -> Control {
    Control::Inside(tls("ok.test", "-servername ok.test", FINE))
}

/// Bytes inside TLS to `ok.test`, which must be refused with this status.
fn inside_tls(
    case: u16,
    name: &str,
    status: &'static str,
    code: &'static str,
    head: &str,
) -> Attempt {
    let argv = tls("ok.test", "-servername ok.test", &format!("{head}{HIDDEN}"));
    attempt(case, name, &texts(&argv), &[]).control(fine()).says(&[status]).refused(code)
}

/// Hosts that are none, as a proxy of either kind is told them.
fn hosts() -> Vec<Attempt> {
    let long = "a".repeat(254);
    let hosts: [(&str, &[u8]); 14] = [
        ("NUL", b"evil.test\0.ok.test"),
        ("NUL behind", b"ok.test\0"),
        ("CR", b"ok.test\r.evil.test"),
        ("LF", b"ok.test\n.evil.test"),
        ("a space", b"ok.test .evil.test"),
        ("@", b"ok.test@evil.test"),
        ("#", b"evil.test#.ok.test"),
        ("/", b"evil.test/.ok.test"),
        ("bytes above 127", b"ok.t\xe9st"),
        ("a letter that looks alike", "οk.test".as_bytes()),
        ("254 bytes", long.as_bytes()),
        ("a bad xn--", b"xn--zzzzzzzzzz99999.test"),
        ("an empty label", b"ok..test"),
        ("an underscore", b"_dmarc.ok.test"),
    ];
    let get =
        "GET http://plain.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\nConnection: close\\r\\n\\r\\n";
    let control = || Control::Inside(probing(&["say", PROXY, get]));
    let mut all = Vec::new();
    for (name, host) in hosts {
        let text = escaped(host);
        let connect = format!("CONNECT {text}:443 HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n");
        let one = probe(19, &["say", PROXY, &connect]).named(&format!("CONNECT, host with {name}"));
        all.push(one.control(control()).says(&["HTTP/1.1 400"]).refused("malformed"));
        let length = escaped(&[u8::try_from(host.len()).unwrap()]);
        let request = format!("\\x05\\x01\\x00\\x03{length}{text}\\x01\\xbb");
        let one = probe(19, &["say", SOCKS, "\\x05\\x01\\x00", &request]);
        let one = one.named(&format!("SOCKS, host with {name}")).control(control());
        // The first answer is to the greeting.
        all.push(one.says(&["\\x05\\x00\\x05\\x02", "\\x05\\x00\\x05\\x08"]).refused("malformed"));
    }
    all
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\x{byte:02x}");
        text
    })
}

/// One name in CONNECT, hello and Host.
fn names() -> Vec<Attempt> {
    let mut all = Vec::new();
    for (name, options) in [
        ("another name in the hello", "-servername evil.test"),
        ("no name in the hello", "-noservername"),
    ] {
        let argv = tls("ok.test", options, FINE);
        let one = attempt(20, name, &texts(&argv), &[]).control(fine());
        all.push(one.says(&["421"]).refused("mismatch"));
    }
    let to = |host: &str| format!("GET / HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n");
    for (name, head) in [
        ("another Host", to("evil.test")),
        ("another port in Host", to("ok.test:8443")),
        (
            "Host twice",
            "GET / HTTP/1.1\\r\\nHost: ok.test\\r\\nHost: evil.test\\r\\n\\r\\n".to_owned(),
        ),
        (
            "the same Host twice",
            "GET / HTTP/1.1\\r\\nHost: ok.test\\r\\nHost: ok.test\\r\\n\\r\\n".to_owned(),
        ),
        (
            "another address than Host",
            "GET http://evil.test/ HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n".to_owned(),
        ),
    ] {
        all.push(inside_tls(20, name, "421", "mismatch", &head));
    }
    all.push(inside_tls(20, "no Host", "400", "malformed", "GET / HTTP/1.1\\r\\n\\r\\n"));
    all
}

/// Versions and disguises of TLS.
fn hellos() -> Vec<Attempt> {
    let connect = "CONNECT opaque.test:443 HTTP/1.1\\r\\nHost: opaque.test:443\\r\\n\\r\\n";
    let opaque = || Control::inside(&curl(&["-k", "https://opaque.test/"]));
    let mut all = Vec::new();
    for (case, name, bytes, code) in [
        (
            21,
            "an encrypted hello",
            hello(Some("opaque.test"), 0x0303, Encrypted::Yes),
            "unsupported",
        ),
        (20, "an opaque hello without a name", hello(None, 0x0303, Encrypted::No), "mismatch"),
        (
            20,
            "an opaque hello of another host",
            hello(Some("evil.test"), 0x0303, Encrypted::No),
            "mismatch",
        ),
    ] {
        let one = probe(case, &["say", PROXY, connect, &escaped(&bytes)]).named(name);
        all.push(one.control(opaque()).refused(code).though(dials_opaque));
    }
    let old = tls("ok.test", "-servername ok.test -tls1 -cipher ALL:@SECLEVEL=0", FINE);
    all.push(
        attempt(21, "TLS 1.0", &texts(&old), &[])
            .control(fine())
            .says(&["alert"])
            .refused("unsupported"),
    );
    all
}

/// An opaque host is dialled before the hello is read; no byte of a hello that is refused reaches it.
fn dials_opaque(arrival: &Arrival) -> bool {
    match arrival {
        Arrival::Query { .. } | Arrival::Packet { .. } => true,
        // Whoever is hung up on has not been greeted either.
        Arrival::Hello { name, .. } => name.is_none(),
        Arrival::Request(_) | Arrival::Bytes { .. } => false,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encrypted {
    Yes,
    No,
}

/// A first message of TLS with what is asked for and nothing else.
fn hello(name: Option<&str>, version: u16, encrypted: Encrypted) -> Vec<u8> {
    let number = |count: usize| u16::try_from(count).unwrap().to_be_bytes();
    let mut extensions = Vec::new();
    if let Some(name) = name {
        let list = [&[0], &number(name.len())[..], name.as_bytes()].concat();
        extensions.extend([0, 0]);
        extensions.extend(number(list.len() + 2));
        extensions.extend(number(list.len()));
        extensions.extend(list);
    }
    if encrypted == Encrypted::Yes {
        extensions.extend([0xfe, 0x0d, 0, 4, 0, 1, 2, 3]);
    }
    let mut body = version.to_be_bytes().to_vec();
    body.extend([7; 32]);
    body.extend([0, 0, 2, 0x13, 0x01, 1, 0]);
    body.extend(number(extensions.len()));
    body.extend(extensions);
    let message = [&[1, 0], &number(body.len())[..], &body].concat();
    [&[22, 3, 1], &number(message.len())[..], &message].concat()
}

/// Other protocols than the one that is looked at.
fn switches() -> Vec<Attempt> {
    let preface =
        "PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n\\x00\\x00\\x00\\x04\\x00\\x00\\x00\\x00\\x00";
    let upgrade = |host: &str, to: &str| {
        let rest = match to {
            "h2c" => {
                "Connection: Upgrade, HTTP2-Settings\\r\\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"
            }
            _ => {
                "Connection: Upgrade\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
            }
        };
        format!("GET / HTTP/1.1\\r\\nHost: {host}\\r\\nUpgrade: {to}\\r\\n{rest}\\r\\n\\r\\n")
    };
    let plain =
        "GET http://plain.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\nConnection: close\\r\\n\\r\\n";
    let control = || Control::Inside(probing(&["say", PROXY, plain]));
    let socket = tls("ok.test", "-servername ok.test", &closing(&upgrade("ok.test", "websocket")));
    let at_80 = "198.51.100.7:80";
    let raw = |name: &str, at: &str, bytes: &str| {
        probe(22, &["say", at, bytes]).named(name).control(control())
    };
    vec![
        raw("h2c at the proxy", PROXY, preface).says(&["505"]).refused("unsupported"),
        raw("h2c at port 80", at_80, preface).says(&["505"]).refused("unsupported"),
        raw("Upgrade: h2c at port 80", at_80, &upgrade("plain.test", "h2c"))
            .says(&["505"])
            .refused("unsupported"),
        raw("a web socket at port 80", at_80, &upgrade("plain.test", "websocket"))
            .says(&["405"])
            .refused("unsupported"),
        inside_tls(22, "h2c inside TLS", "505", "unsupported", preface),
        inside_tls(22, "Upgrade: h2c inside TLS", "505", "unsupported", &upgrade("ok.test", "h2c")),
        // Refused as a request is, so the connection goes on: nothing is hidden behind it.
        attempt(22, "a web socket inside TLS", &texts(&socket), &[])
            .control(fine())
            .says(&["405"])
            .refused("unsupported")
            .though(|arrival| arrival.request().is_none_or(|request| request.method == "HEAD")),
        inside_tls(
            22,
            "another protocol inside TLS",
            "400",
            "malformed",
            "\\x16\\x03\\x01\\x00\\x05hello",
        ),
    ]
}

/// With a second request behind it that passes and ends the connection.
fn closing(head: &str) -> String {
    format!("{head}HEAD /fine HTTP/1.1\\r\\nHost: ok.test\\r\\nConnection: close\\r\\n\\r\\n")
}

/// Heads that two programs would read differently.
fn smuggling() -> Vec<Attempt> {
    let post = |rest: &str| format!("POST / HTTP/1.1\\r\\nHost: ok.test\\r\\n{rest}");
    let mut all: Vec<Attempt> = [
        ("two lengths", post("Content-Length: 0\\r\\nContent-Length: 44\\r\\n\\r\\n")),
        ("the same length twice", post("Content-Length: 0\\r\\nContent-Length: 0\\r\\n\\r\\n")),
        ("a list of lengths", post("Content-Length: 0, 44\\r\\n\\r\\n")),
        ("a length with a sign", post("Content-Length: +4\\r\\n\\r\\n")),
        ("a length in hex", post("Content-Length: 0x4\\r\\n\\r\\n")),
        ("length and chunks", post("Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n")),
        ("xchunked", post("Transfer-Encoding: xchunked\\r\\n\\r\\n0\\r\\n\\r\\n")),
        ("chunked, identity", post("Transfer-Encoding: chunked, identity\\r\\n\\r\\n0\\r\\n\\r\\n")),
        ("chunked twice", post("Transfer-Encoding: chunked\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n")),
        ("a space before the colon", post("Transfer-Encoding : chunked\\r\\n\\r\\n0\\r\\n\\r\\n")),
        ("a tab in the name", post("Transfer-Encoding\\x09: chunked\\r\\n\\r\\n0\\r\\n\\r\\n")),
        ("NUL in a value", post("X: a\\x00b\\r\\n\\r\\n")),
        ("CR in a value", post("X: a\\x0db\\r\\n\\r\\n")),
        ("bare LF", "GET / HTTP/1.1\\nHost: ok.test\\n\\n".to_owned()),
        ("a folded header", post("X: a\\r\\n b\\r\\n\\r\\n")),
        ("a space before the first header", "GET / HTTP/1.1\\r\\n Host: ok.test\\r\\n\\r\\n".to_owned()),
        ("extensions of chunks", post("Transfer-Encoding: chunked\\r\\n\\r\\n5;x=y\\r\\nhello\\r\\n0\\r\\n\\r\\n")),
        ("a chunk that ends with LF", post("Transfer-Encoding: chunked\\r\\n\\r\\n5\\nhello\\r\\n0\\r\\n\\r\\n")),
        ("a chunk longer than it says", post("Transfer-Encoding: chunked\\r\\n\\r\\n3\\r\\nhello\\r\\n0\\r\\n\\r\\n")),
        ("a chunk of a huge length", post("Transfer-Encoding: chunked\\r\\n\\r\\nffffffffffffffff\\r\\nx\\r\\n")),
    ]
    .iter()
    .map(|(name, head)| {
        // A body is read when the host is reached already; no request comes of it.
        let one = inside_tls(23, name, "HTTP/1.1 400", "malformed", head);
        if name.contains("chunk") { one.though(|arrival| arrival.request().is_none()) } else { one }
    })
    .collect();
    let old = "POST / HTTP/1.0\\r\\nHost: ok.test\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n";
    all.push(inside_tls(23, "HTTP/1.0 with chunks", "505", "unsupported", old));
    for (name, status, code, target) in [
        ("..%2f", "400", "malformed", "/a/..%2fdenied"),
        ("%2e%2e", "400", "malformed", "/a/%2e%2e/denied"),
        ("..", "400", "malformed", "/a/../denied/x"),
        ("twice encoded", "400", "malformed", "/a%252fb"),
        ("an encoded slash after a point", "400", "malformed", "/fine/.%2fdenied/x"),
        ("a backslash", "400", "malformed", "/denied\\\\y"),
        ("an encoded backslash", "400", "malformed", "/denied%5cx"),
        ("parameters of a path", "400", "malformed", "/denied;a=b/x"),
        ("two slashes", "400", "malformed", "//denied/x"),
        ("//evil/path", "400", "malformed", "//evil.test/path"),
        ("encoded NUL", "400", "malformed", "/a%00"),
        ("a fragment", "400", "malformed", "/a#/denied"),
        ("a user before the host", "400", "malformed", "https://ok.test@evil.test/"),
        ("an asterisk", "400", "malformed", "*"),
    ] {
        let head = format!("GET {target} HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n");
        all.push(inside_tls(24, name, status, code, &head));
    }
    // Judged as what it means, and the connection goes on: nothing is hidden behind it.
    for (name, target) in
        [("an encoded letter", "/%64enied/x"), ("an encoded slash", "/denied%2fx")]
    {
        let head =
            format!("GET {target} HTTP/1.1\\r\\nHost: ok.test\\r\\nConnection: close\\r\\n\\r\\n");
        let argv = tls("ok.test", "-servername ok.test", &head);
        let one = attempt(24, &format!("{name} of a denied path"), &texts(&argv), &[]);
        all.push(one.control(fine()).says(&["403"]).refused("forbidden"));
    }
    let by_proxy = [
        (
            "absolute form of another host",
            "GET http://evil.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n",
            "421",
            "mismatch",
        ),
        (
            "a user in absolute form",
            "GET http://plain.test@evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n",
            "400",
            "malformed",
        ),
    ];
    let plain =
        "GET http://plain.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\nConnection: close\\r\\n\\r\\n";
    for (name, bytes, status, code) in by_proxy {
        let one = probe(24, &["say", PROXY, bytes]).named(name).says(&[status]).refused(code);
        all.push(one.control(Control::Inside(probing(&["say", PROXY, plain]))));
    }
    all
}

/// Methods that a rule does not know.
fn methods() -> Vec<Attempt> {
    let head = |method: &str| format!("{method} /fine HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n");
    let mut all = vec![
        inside_tls(25, "a method in lower case", "400", "malformed", &head("get")),
        inside_tls(25, "QUERY", "501", "unsupported", &head("QUERY")),
        inside_tls(25, "TRACE", "405", "unsupported", &head("TRACE")),
        inside_tls(25, "PROPFIND", "501", "unsupported", &head("PROPFIND")),
        inside_tls(
            25,
            "CONNECT inside a tunnel",
            "501",
            "unsupported",
            "CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n",
        ),
    ];
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        let line = curl(&["-X", method, "https://reading.test/"]);
        let one = attempt(
            25,
            &format!("{method} where only reading is allowed"),
            &line,
            &curl(&["https://reading.test/"]),
        );
        all.push(one.says(&["403"]).refused("not_allowed"));
    }
    all
}

/// Headers by which a host would do something else than the method says never reach it.
fn overrides(ground: &mut Ground<'_>) {
    let mark = ground.internet.mark();
    let headers = [
        "X-HTTP-Method-Override: DELETE",
        "X-HTTP-Method: PUT",
        "X_Method_Override: PATCH",
        "X-Kept: yes",
    ];
    let line: Vec<&str> =
        headers.iter().flat_map(|header| ["-H", header]).chain(["https://reading.test/"]).collect();
    let said = ground.house.run(ground.sandbox(), &curl(&line));
    let arrived = ground.internet.since(mark);
    let asked: Vec<String> =
        arrived.iter().filter_map(Arrival::request).map(|it| it.all().to_lowercase()).collect();
    let clean = asked.len() == 1
        && asked[0].contains("x-kept")
        && !asked[0].contains("override")
        && !asked[0].contains("x-http");
    ground.check(25, "override headers are taken off", &format!("{asked:?} {said}"), clean);
}

/// The first of two requests passes, the second is judged on its own.
fn pipelining(ground: &mut Ground<'_>) {
    let first = "GET /first HTTP/1.1\\r\\nHost: ok.test\\r\\nContent-Length: 0\\r\\n\\r\\n";
    let argv = tls("ok.test", "-servername ok.test", &format!("{first}{HIDDEN}"));
    let one =
        attempt(23, "a denied request behind one that passes", &texts(&argv), &[]).control(fine());
    ground.deny(
        &one.says(&["403"])
            .refused("forbidden")
            .though(|arrival| arrival.request().is_none_or(|request| request.target == "/first")),
    );
    let first = "GET http://plain.test/first HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n";
    let second =
        "GET http://evil.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n";
    let one = probe(23, &["say", PROXY, &format!("{first}{second}")]);
    let plain =
        "GET http://plain.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\nConnection: close\\r\\n\\r\\n";
    let one = one.named("a denied host behind one that passes, on one connection to the proxy");
    let one = one.control(Control::Inside(probing(&["say", PROXY, plain])));
    ground.deny(&one.says(&["403"]).refused("not_allowed").though(|arrival| {
        arrival.request().is_none_or(|request| request.target == "/first")
            && arrival.query().is_none_or(|name| name == "plain.test")
    }));
}

/// Programs that know of no proxy, or forget it, are carried all the same, and no further.
fn without_a_proxy() -> Vec<Attempt> {
    let trust = "SSL_CERT_FILE=\"$SSL_CERT_FILE\"";
    let clean = |command: &str| format!("exec env -i PATH=/usr/bin:/bin {trust} {command}");
    let python = |host: &str| {
        clean(&format!(
            "python3 -c 'import http.client as c; h = c.HTTPSConnection(\"{host}\"); \
             h.request(\"GET\", \"/fine\"); print(h.getresponse().status)'"
        ))
    };
    let mut all = Vec::new();
    for (name, command, control, told) in [
        (
            "curl",
            clean("curl -sS https://by-curl.evil.test/"),
            clean("curl -sS https://ok.test/fine"),
            "curl: (6)",
        ),
        ("python", python("by-python.evil.test"), python("ok.test"), "rror"),
        (
            "openssl, by address",
            clean("openssl s_client -connect 93.184.216.34:443 -noservername </dev/null"),
            clean("curl -sS https://ok.test/fine"),
            "",
        ),
    ] {
        let one = attempt(
            29,
            &format!("{name} without an environment"),
            &["sh", "-c", &command],
            &["sh", "-c", &control],
        );
        let code = if name.contains("address") { "mismatch" } else { "not_allowed" };
        all.push(one.says(&[told]).refused(code));
    }
    all
}

/// An answer without end is passed on as it comes, and not kept.
fn endless(ground: &mut Ground<'_>) {
    let memory = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap().to_owned();
        line.split_ascii_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    let gateway = ground.house.gateway().unwrap();
    let before = memory(gateway);
    for (name, path, options) in [
        ("10 GB", "/length", vec![]),
        ("10 GB to a slow reader", "/length", vec!["--limit-rate", "1k"]),
        ("chunks without end, said to be compressed", "/chunks", vec![]),
        ("events without end", "/events", vec!["-N"]),
    ] {
        let url = format!("https://big.test{path}");
        let line = [
            &["curl", "-sS", "-o", "/dev/null", "-w", "%{size_download}", "-m", "2"][..],
            &options,
            &[&url],
        ]
        .concat();
        let said = ground.house.run(ground.sandbox(), &line);
        let carried = said.out.parse::<u64>().is_ok_and(|bytes| bytes > 0);
        ground.check(28, &format!("{name}: is carried"), &said.to_string(), carried);
        let now = memory(gateway);
        let grown = now.saturating_sub(before);
        ground.check(
            28,
            &format!("{name}: the gateway grows by less than 64 MiB"),
            &format!("{grown} KiB"),
            grown < 64 << 10,
        );
    }
}

#[test]
fn a_request_has_one_meaning_or_none() {
    on_the_internet("requests", |internet| {
        internet.site("big.test", |request| {
            let chunk = [b"10000\r\n".as_slice(), &vec![0; 0x10000], b"\r\n"].concat();
            let event = b"c\r\ndata: tick\n\n\r\n".to_vec();
            let (head, again) = match request.path() {
                "/length" => ("Content-Length: 10737418240", vec![b'x'; 1 << 16]),
                "/chunks" => ("Content-Encoding: gzip\r\nTransfer-Encoding: chunked", chunk),
                _ => ("Content-Type: text/event-stream\r\nTransfer-Encoding: chunked", event),
            };
            Reply::Endless(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").into_bytes(), again)
        });
        let house = House::start(internet, POLICY);
        let with = [&["--tier", "verified"][..], &WISHES].concat();
        let mut ground = Ground::new(internet, &house, "verified", &with);
        let tables =
            [hosts(), names(), hellos(), switches(), smuggling(), methods(), without_a_proxy()];
        for attempt in tables.iter().flatten() {
            ground.deny(attempt);
        }
        overrides(&mut ground);
        pipelining(&mut ground);
        endless(&mut ground);
        ground.done().finish("requests", 111);
    });
}
