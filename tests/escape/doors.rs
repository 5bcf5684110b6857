//! The doors themselves: what else a proxy could be asked for, and what a program without one could say at port 80.

use tests::internet::{Arrival, House, Request};

use crate::ground::{
    Attempt, Control, Ground, PROXY, SOCKS, attempt, curl, is_lookup, on_the_internet, probe,
    probing, texts, tls,
};

const POLICY: &str = "
version: 1
egress:
  implement:
    allow:
      - { host: ok.test, methods: [GET, HEAD, POST] }
      - { host: plain.test, ports: [80], methods: [GET, HEAD, POST] }
      - big.test
";

const WISHES: [&str; 8] = [
    "--tier",
    "verified",
    "--allow",
    "{ host: ok.test, methods: [GET, HEAD, POST] }",
    "--allow",
    "{ host: plain.test, ports: [80], methods: [GET, HEAD, POST] }",
    "--allow",
    "big.test",
];

/// Any address, where programs without a proxy arrive.
const PORT_80: &str = "93.184.216.34:80";
const GET: &str =
    "GET http://plain.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\nConnection: close\\r\\n\\r\\n";

fn by_proxy() -> Control {
    Control::Inside(probing(&["say", PROXY, GET]))
}

/// Ports, schemes and forms that are none.
fn places() -> Vec<Attempt> {
    let mut all = Vec::new();
    for place in [
        "ok.test",
        "ok.test:",
        "ok.test:0",
        "ok.test:65536",
        "ok.test:+443",
        "ok.test:0443",
        "ok.test:443/",
        "ok.test:443:443",
        ":443",
        "http://ok.test:443",
        "/",
        "*",
    ] {
        let text = format!("CONNECT {place} HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n");
        let one = probe(6, &["say", PROXY, &text]).named(&format!("CONNECT {place}"));
        all.push(one.control(by_proxy()).says(&["HTTP/1.1 400"]).refused("malformed"));
    }
    for (name, line) in [
        ("ftp", "GET ftp://plain.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n"),
        ("file", "GET file:///etc/passwd HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n"),
        ("gopher", "GET gopher://plain.test:25/_x HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n"),
        ("no scheme", "GET plain.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n"),
        ("origin form", "GET / HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n"),
        (
            "CONNECT with a body",
            "CONNECT ok.test:443 HTTP/1.1\\r\\nHost: ok.test\\r\\nContent-Length: 5\\r\\n\\r\\nhello",
        ),
        ("HTTP/0.9", "GET http://plain.test/\\r\\n\\r\\n"),
        ("HTTP/3.0", "GET http://plain.test/ HTTP/3.0\\r\\nHost: plain.test\\r\\n\\r\\n"),
        ("nothing but bytes", "\\x00\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\r\\n\\r\\n"),
    ] {
        let one = probe(24, &["say", PROXY, line]).named(&format!("at the proxy: {name}"));
        all.push(one.control(by_proxy()).says(&["HTTP/1.1 4", "HTTP/1.1 5"]).refused_any());
    }
    all
}

/// What SOCKS can be asked for besides a connection to a name.
fn socks() -> Vec<Attempt> {
    let name = "\\x03\\x0aplain.test\\x00\\x50";
    let request = |command: &str| format!("\\x05{command}\\x00{name}");
    let rows = [
        ("BIND", "\\x05\\x01\\x00", request("\\x02"), "\\x05\\x00\\x05\\x07"),
        ("UDP ASSOCIATE", "\\x05\\x01\\x00", request("\\x03"), "\\x05\\x00\\x05\\x07"),
        (
            "an address",
            "\\x05\\x01\\x00",
            "\\x05\\x01\\x00\\x01\\x5d\\xb8\\xd8\\x22\\x00\\x50".to_owned(),
            "\\x05\\x00\\x05\\x02",
        ),
        (
            "an address of IPv6",
            "\\x05\\x01\\x00",
            format!(
                "\\x05\\x01\\x00\\x04{}\\x00\\x50",
                "\\x26\\x06\\x28\\x00\\x02\\x20\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x34"
            ),
            "\\x05\\x00\\x05\\x02",
        ),
        (
            "metadata",
            "\\x05\\x01\\x00",
            "\\x05\\x01\\x00\\x01\\xa9\\xfe\\xa9\\xfe\\x00\\x50".to_owned(),
            "\\x05\\x00\\x05\\x02",
        ),
        (
            "a kind of address that is none",
            "\\x05\\x01\\x00",
            "\\x05\\x01\\x00\\x07abcdef".to_owned(),
            "\\x05\\x00\\x05\\x08",
        ),
    ];
    let mut all: Vec<Attempt> = rows
        .iter()
        .map(|(name, greeting, request, told)| {
            let one =
                probe(19, &["say", SOCKS, greeting, request]).named(&format!("SOCKS: {name}"));
            one.control(by_proxy()).says(&[told]).refused_any()
        })
        .collect();
    for (name, bytes) in [
        ("version 4", "\\x04\\x01\\x00\\x50\\x5d\\xb8\\xd8\\x22\\x00"),
        ("version 4a", "\\x04\\x01\\x00\\x50\\x00\\x00\\x00\\x01\\x00plain.test\\x00"),
        ("a password only", "\\x05\\x01\\x02"),
        ("HTTP", GET),
    ] {
        let one = probe(19, &["say", SOCKS, bytes]).named(&format!("SOCKS: {name}"));
        all.push(one.control(by_proxy()).refused_any());
    }
    all
}

/// Programs without a proxy, which say another name than they mean.
fn at_port_80() -> Vec<Attempt> {
    let control = || {
        let get = "GET / HTTP/1.1\\r\\nHost: plain.test\\r\\nConnection: close\\r\\n\\r\\n";
        Control::Inside(probing(&["say", PORT_80, get]))
    };
    let first = "HEAD /first HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n";
    let mut all = Vec::new();
    for (name, text, told, code) in [
        (
            "absolute form of another host",
            "GET http://evil.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n".to_owned(),
            "421",
            "mismatch",
        ),
        (
            "absolute form, Host of another",
            "GET http://plain.test/ HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n".to_owned(),
            "4",
            "",
        ),
        (
            "CONNECT",
            "CONNECT evil.test:443 HTTP/1.1\\r\\nHost: plain.test\\r\\n\\r\\n".to_owned(),
            "4",
            "",
        ),
        (
            "Host with a port of its own",
            "GET / HTTP/1.1\\r\\nHost: plain.test:8080\\r\\n\\r\\n".to_owned(),
            "421",
            "mismatch",
        ),
        (
            "Host that is an address",
            "GET / HTTP/1.1\\r\\nHost: 169.254.169.254\\r\\n\\r\\n".to_owned(),
            "403",
            "address",
        ),
        (
            "a second request to another host",
            format!(
                "{first}GET / HTTP/1.1\\r\\nHost: evil.test\\r\\nConnection: close\\r\\n\\r\\n"
            ),
            "421",
            "mismatch",
        ),
        (
            "a web page's own protocol",
            "SSH-2.0-OpenSSH_9.9\\r\\n\\r\\n".to_owned(),
            "400",
            "malformed",
        ),
    ] {
        let one = probe(24, &["say", PORT_80, &text]).named(&format!("at port 80: {name}"));
        let one = one.control(control()).says(&[told]).though(|arrival| {
            arrival.request().is_none_or(|request| request.target == "/first")
                && arrival.query().is_none_or(|name| name == "plain.test")
        });
        all.push(if code.is_empty() { one.refused_any() } else { one.refused(code) });
    }
    all
}

/// What belongs to one hop, or could be read as something else at the next, stays here.
fn between_hops(ground: &mut Ground<'_>) {
    let mark = ground.internet.mark();
    let headers = [
        "Proxy-Authorization: Basic c2VjcmV0",
        "Proxy-Connection: keep-alive",
        "Connection: close, X-Hop",
        "X-Hop: yes",
        "TE: trailers",
        "X-Kept: yes",
    ];
    let line: Vec<&str> =
        headers.iter().flat_map(|header| ["-H", header]).chain(["https://ok.test/hops"]).collect();
    let said = ground.house.run(ground.sandbox(), &curl(&line));
    let arrived = ground.internet.since(mark);
    let asked: Vec<String> =
        arrived.iter().filter_map(Arrival::request).map(Request::all).collect();
    let text = asked.join("\n").to_lowercase();
    let clean = asked.len() == 1
        && text.contains("x-kept")
        && !["proxy-", "x-hop", "te: "].iter().any(|it| text.contains(it));
    ground.check(23, "headers of one hop end here", &format!("{text} {said}"), clean);
    let inside = ground.house.path().to_string_lossy().into_owned();
    let quiet = !["lamp", "sandbox", "s_0", inside.as_str(), "192.168.77", "via:", "x-forwarded"]
        .iter()
        .any(|it| text.contains(it));
    ground.check(23, "the host is told nothing of us", &text, quiet);
    let trailers = "POST /t HTTP/1.1\\r\\nHost: ok.test\\r\\nTransfer-Encoding: chunked\\r\\nConnection: close\\r\\n\\r\\n0\\r\\nContent-Length: 9\\r\\nX-Trailer: yes\\r\\n\\r\\n";
    let mark = ground.internet.mark();
    let argv = tls("ok.test", "-servername ok.test", trailers);
    let said = ground.house.run(ground.sandbox(), &texts(&argv));
    let asked: Vec<String> =
        ground.internet.since(mark).iter().filter_map(Arrival::request).map(Request::all).collect();
    let clean = asked.iter().all(|text| !text.to_lowercase().contains("trailer: yes"));
    ground.check(23, "trailers are not passed on", &format!("{asked:?} {said}"), clean);
}

/// TLS as it ends here: no HTTP/2, and nobody is asked for a certificate.
fn endings(ground: &mut Ground<'_>) {
    let line =
        ["curl", "-sS", "--http2", "-o", "/dev/null", "-w", "%{http_version}", "https://ok.test/"];
    let said = ground.house.run(ground.sandbox(), &line);
    ground.check(20, "HTTP/2 is not offered", &said.to_string(), said.out == "1.1");
    let script = format!(
        "openssl s_client -proxy {PROXY} -connect ok.test:443 -servername ok.test -alpn h2,http/1.1 </dev/null 2>&1"
    );
    let said = ground.house.shell(ground.sandbox(), &script);
    let none = said.out.contains("No client certificate CA names sent")
        && !said.out.contains("ALPN protocol: h2");
    let told: String = said
        .out
        .lines()
        .filter(|line| line.contains("certificate CA") || line.contains("ALPN"))
        .collect();
    ground.check(21, "no certificate of the program's is asked for", &told, none);
}

/// A name with more addresses than fit into one message: they are all looked at, and none is dialled that may not be.
fn many_addresses(ground: &mut Ground<'_>) {
    let line = curl(&["https://big.test/"]);
    let ok = curl(&["https://ok.test/"]);
    let one = attempt(16, "a name with 4000 private addresses", &line, &ok);
    ground.deny(&one.says(&["403"]).refused("address").though(|arrival| {
        is_lookup(arrival) || matches!(arrival, Arrival::Packet { protocol: 6, port: Some(53), .. })
    }));
}

#[test]
fn a_door_is_for_what_it_is_for() {
    on_the_internet("doors", |internet| {
        internet.name("big.test", |_| {
            (0..4000_u32)
                .map(|number| std::net::Ipv4Addr::from(0x0a00_0000 + number).into())
                .collect()
        });
        let house = House::start(internet, POLICY);
        let mut ground = Ground::new(internet, &house, "verified", &WISHES);
        for attempt in [places(), socks(), at_port_80()].iter().flatten() {
            ground.deny(attempt);
        }
        between_hops(&mut ground);
        endings(&mut ground);
        many_addresses(&mut ground);
        ground.done().finish("doors", 45);
    });
}
