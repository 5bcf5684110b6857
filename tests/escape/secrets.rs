//! Credentials: a placeholder is worth something in one place only, an answer does not bring the value back, and it ends with its owner.

use std::time::{Duration, Instant};

use tests::internet::{Arrival, House, Internet, Record, Reply, Request};

use crate::ground::{Ground, on_the_internet, until};

const POLICY: &str = "
version: 1
egress:
  implement:
    allow:
      - { host: bound.test, methods: [GET, POST] }
      - { host: bound.test, ports: [80], methods: [GET, POST] }
      - { host: other.test, methods: [GET, POST] }
      - { host: opaque.test, opaque: true }
";

const WISHES: [&str; 14] = [
    "--tier",
    "verified",
    "--secret",
    "TOKEN",
    "--secret",
    "PASSWORD",
    "--allow",
    "{ host: bound.test, methods: [GET, POST] }",
    "--allow",
    "{ host: bound.test, ports: [80], methods: [GET, POST] }",
    "--allow",
    "{ host: other.test, methods: [GET, POST] }",
    "--allow",
    "{ host: opaque.test, opaque: true }",
];

const TOKEN: &str = "ghp-canary-4f1d0c9b8a7e6f5d";
const PASSWORD: &str = "hunter2/canary+5e4d3c2b1a==";
/// `bot:` and the password, as Basic renders it.
const RENDERED: &str = "Ym90Omh1bnRlcjIvY2FuYXJ5KzVlNGQzYzJiMWE9PQ==";

fn holds_a_secret(text: &str) -> bool {
    let encoded = "hunter2%2Fcanary%2B5e4d3c2b1a%3D%3D";
    [TOKEN, PASSWORD, RENDERED, encoded].iter().any(|form| text.contains(form))
}

/// Says back what it was asked, in every way that there is.
fn reflect(request: &Request) -> Reply {
    let said = request.all();
    let header = request.header("authorization").unwrap_or("none");
    let head = format!("X-Seen: {header}\r\nSet-Cookie: seen={header}\r\nLocation: /?{header}");
    let halves = said.split_at(said.find("ghp-").map_or(said.len() / 2, |at| at + 9));
    match request.path() {
        "/chunks" => {
            let (one, two) = halves;
            let body = format!("{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len());
            let text =
                format!("HTTP/1.1 200 OK\r\n{head}\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
            Reply::Bytes(text.into_bytes())
        }
        "/packed" => {
            // Whoever unpacked it would find the value.
            let text =
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x08ab";
            Reply::Bytes(text.as_bytes().to_vec())
        }
        _ => {
            let length = said.len();
            let text =
                format!("HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: {length}\r\n\r\n{said}");
            Reply::Bytes(text.into_bytes())
        }
    }
}

fn set(house: &House<'_>, words: &[&str], value: &str) {
    let said = house.lamp_reading(&[&["secret", "set"], words].concat(), value.as_bytes());
    assert!(said.succeeded(), "{said}");
}

fn requests(arrivals: &[Arrival]) -> Vec<String> {
    arrivals.iter().filter_map(Arrival::request).map(Request::all).collect()
}

/// What is sent with the placeholder, and whether the value arrives. Inside it is never seen.
fn sent(ground: &mut Ground<'_>, case: u16, name: &str, script: &str, swapped: Swapped) {
    let marks = (ground.internet.mark(), ground.house.audit().len());
    let said = ground.house.shell(ground.sandbox(), script);
    let asked = requests(&ground.internet.since(marks.0));
    let swaps = asked.iter().filter(|text| holds_a_secret(text)).count();
    let right = match swapped {
        Swapped::Once => asked.len() == 1 && swaps == 1,
        Swapped::Never => swaps == 0,
    };
    let told = format!("{asked:?} {said}");
    ground.check(case, &format!("{name}: {swapped:?} swapped"), &told, right);
    let inside = !holds_a_secret(&said.all());
    ground.check(case, &format!("{name}: nothing comes back"), &said.to_string(), inside);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Swapped {
    Once,
    Never,
}

/// Where a placeholder means its value, and everywhere else.
fn places(ground: &mut Ground<'_>) {
    let curl = "curl -sS -i -m 9";
    for (name, line, swapped) in [
        (
            "control: the bound header",
            "-H \"Authorization: Bearer $TOKEN\" https://bound.test/",
            Swapped::Once,
        ),
        ("control: Basic", "-u \"bot:$PASSWORD\" https://bound.test/", Swapped::Once),
        ("another host", "-H \"Authorization: Bearer $TOKEN\" https://other.test/", Swapped::Never),
        ("another header", "-H \"X-Api-Key: $TOKEN\" https://bound.test/", Swapped::Never),
        (
            "the password as a bearer",
            "-H \"Authorization: Bearer $PASSWORD\" https://bound.test/",
            Swapped::Never,
        ),
        ("the query", "\"https://bound.test/?t=$TOKEN\"", Swapped::Never),
        ("the path", "\"https://bound.test/$TOKEN\"", Swapped::Never),
        ("the body", "-d \"$TOKEN\" https://bound.test/", Swapped::Never),
        ("a cookie", "-b \"t=$TOKEN\" https://bound.test/", Swapped::Never),
        ("without TLS", "-H \"Authorization: Bearer $TOKEN\" http://bound.test/", Swapped::Never),
        (
            "without TLS, by address",
            "--noproxy '*' --connect-to ::93.184.216.34:80 -H \"Authorization: Bearer $TOKEN\" http://bound.test/",
            Swapped::Never,
        ),
        (
            "without TLS, Host of another",
            "--noproxy '*' -H 'Host: bound.test' -H \"Authorization: Bearer $TOKEN\" http://10.0.0.5/",
            Swapped::Never,
        ),
        (
            "an opaque host",
            "-k -H \"Authorization: Bearer $TOKEN\" https://opaque.test/",
            Swapped::Never,
        ),
        (
            "a web socket",
            "-H 'Connection: Upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' -H \"Authorization: Bearer $TOKEN\" https://bound.test/",
            Swapped::Never,
        ),
        (
            "TRACE",
            "-X TRACE -H \"Authorization: Bearer $TOKEN\" https://bound.test/",
            Swapped::Never,
        ),
        (
            "a part of it",
            "-H \"Authorization: Bearer ${TOKEN%?}\" https://bound.test/",
            Swapped::Never,
        ),
        (
            "CONNECT here, Host there",
            "--connect-to other.test:443:bound.test:443 -H \"Authorization: Bearer $TOKEN\" https://other.test/",
            Swapped::Never,
        ),
    ] {
        sent(ground, 37, name, &format!("{curl} {line}"), swapped);
    }
    let mark = ground.house.audit().len();
    ground.house.shell(ground.sandbox(), &format!("{curl} \"https://other.test/?t=$TOKEN\""));
    let is_found = |record: &Record| record.kind() == "finding";
    let found = ground.house.audited(mark, 1, is_found).iter().filter(|it| is_found(it)).count();
    ground.check(
        37,
        "a placeholder in an address is a finding",
        &format!("{found} findings"),
        found == 1,
    );
}

/// A host that says back what it was told.
fn echoes(ground: &mut Ground<'_>) {
    for (name, path) in [("body and headers", "/"), ("chunks, cut inside the value", "/chunks")] {
        for credential in ["-H \"Authorization: Bearer $TOKEN\"", "-u \"bot:$PASSWORD\""] {
            let script = format!("curl -sS -i -m 9 {credential} https://bound.test{path}");
            sent(
                ground,
                38,
                &format!("{name}, {}", credential.split(' ').next().unwrap()),
                &script,
                Swapped::Once,
            );
        }
    }
    let packed = "curl -sS -i -m 9 --compressed -H \"Authorization: Bearer $TOKEN\" https://bound.test/packed";
    let said = ground.house.shell(ground.sandbox(), packed);
    let refused = said.out.contains("502");
    ground.check(38, "an answer that cannot be read is not passed on", &said.to_string(), refused);
}

/// The authority of a sandbox is its own, and its key is not inside.
fn authorities(ground: &mut Ground<'_>, other: &str) {
    let house = ground.house;
    let search = "grep -rlsE --binary-files=text -e 'BEGIN ([A-Z]+ )?PRIVATE KEY' /etc /home /run /var /opt /usr/local /tmp 2>/dev/null | head -5; \
                  env | grep -c 'PRIVATE KEY'; ls \"$(dirname \"$SSL_CERT_FILE\")\"";
    let said = house.run(ground.sandbox(), &["sh", "-c", search]);
    let first = said.out.lines().next() == Some("0");
    ground.check(40, "no key of an authority is inside", &said.to_string(), first);

    let own = |name: &str| house.shell(name, "cat \"$NODE_EXTRA_CA_CERTS\"").out;
    let (mine, theirs) = (own(ground.sandbox()), own(other));
    let differ = mine.contains("BEGIN CERTIFICATE") && mine != theirs;
    ground.check(40, "each sandbox has an authority of its own", "they differ", differ);
    let with = |name: &str, pem: &str| {
        let script = "printf '%s' \"$0\" > /tmp/a.pem; exec curl -sS -m 9 --cacert /tmp/a.pem https://other.test/";
        house.run(name, &["sh", "-c", script, pem])
    };
    let good = with(other, &theirs);
    ground.check(40, "control: it believes its own", &good.to_string(), good.succeeded());
    let foreign = with(other, &mine);
    ground.check(
        40,
        "it does not believe a neighbour's",
        &foreign.to_string(),
        foreign.code == Some(60),
    );
}

/// A placeholder of one sandbox is nothing in another, and in a copy of it.
fn neighbours(ground: &mut Ground<'_>, other: &str) {
    let house = ground.house;
    let token = house.shell(ground.sandbox(), "printf %s \"$TOKEN\"").out;
    let own = house.shell(other, "printf %s \"$TOKEN\"").out;
    ground.check(37, "placeholders differ", "they do", token != own && token.len() > 20);
    let forked = house.lamp(&["sandbox", "fork", ground.sandbox(), "copy"]);
    ground.check(76, "control: a copy is made", &forked.to_string(), forked.succeeded());
    for name in [other, "copy"] {
        let mark = ground.internet.mark();
        let header = format!("Authorization: Bearer {token}");
        let said =
            house.run(name, &["curl", "-sS", "-m", "9", "-H", &header, "https://bound.test/"]);
        let asked = requests(&ground.internet.since(mark));
        let held = asked.iter().any(|text| holds_a_secret(text));
        ground.check(
            37,
            &format!("a placeholder of another, in `{name}`"),
            &format!("{asked:?} {said}"),
            !held,
        );
    }
}

/// After it is withdrawn, and after its sandbox is gone, a credential is used no more.
fn endings(internet: &Internet, ground: &mut Ground<'_>) {
    let house = ground.house;
    let ask = "curl -sS -i -m 9 -H \"Authorization: Bearer $TOKEN\" https://bound.test/";
    let begun = Instant::now();
    let said = house.lamp(&["secret", "delete", "TOKEN"]);
    assert!(said.succeeded(), "{said}");
    let mark = internet.mark();
    let said = house.shell(ground.sandbox(), ask);
    let held = requests(&internet.since(mark)).iter().any(|text| holds_a_secret(text));
    let quick = begun.elapsed() < Duration::from_secs(1);
    ground.check(42, "after it is deleted it is not sent", &said.to_string(), !held && quick);

    // A sandbox that asks all the time, and is removed in between.
    let looping =
        "while :; do curl -s -o /dev/null -m 2 -u \"bot:$PASSWORD\" https://bound.test/loop; done";
    let running = house.spawn(ground.sandbox(), &["sh", "-c", looping]);
    let mark = internet.mark();
    let count =
        || requests(&internet.since(mark)).iter().filter(|text| holds_a_secret(text)).count();
    let used = until(|| (count() > 3).then_some(()));
    ground.check(
        42,
        "control: it is used while the sandbox lives",
        &format!("{}", count()),
        used.is_some(),
    );
    let said = house.lamp(&["sandbox", "delete", ground.sandbox()]);
    ground.check(42, "control: it is removed", &said.to_string(), said.succeeded());
    let after = internet.mark();
    drop(running);
    let late = requests(&internet.since(after)).len();
    ground.check(
        42,
        "after the sandbox is gone nothing arrives",
        &format!("{late} arrived"),
        late == 0,
    );
}

#[test]
fn a_credential_is_used_in_one_place_by_one_sandbox_while_it_lives() {
    on_the_internet("secrets", |internet| {
        internet.site("bound.test", reflect);
        internet.site("other.test", reflect);
        let house = House::start(internet, POLICY);
        set(&house, &["TOKEN", "--host", "bound.test", "--header", "Authorization: Bearer"], TOKEN);
        set(&house, &["PASSWORD", "--host", "bound.test", "--basic"], PASSWORD);
        let mut ground = Ground::new(internet, &house, "verified", &WISHES);
        house.sandbox("other", &WISHES);
        places(&mut ground);
        echoes(&mut ground);
        authorities(&mut ground, "other");
        neighbours(&mut ground, "other");
        endings(internet, &mut ground);
        ground.counted().finish("secrets", 56);
    });
}
