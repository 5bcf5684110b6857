//! Packets and connections that leave without being asked for: by address, by odd protocol, to places that nobody may dial.

use std::net::IpAddr;

use tests::internet::{Arrival, HOUSE, House, Internet, PUBLIC, PUBLIC_6, Reply};

use crate::{
    ground::{
        Attempt, Control, Ground, PROXY, attempt, curl, is_lookup, on_the_internet, probe, probing,
        texts, until,
    },
    table::Tally,
};

/// Names that may be reached, and lead where nobody may go.
const FORBIDDEN: [(u16, &str, &str); 19] = [
    (7, "metadata-aws.test", "169.254.169.254"),
    (7, "metadata-six.test", "fd00:ec2::254"),
    (7, "metadata-ali.test", "100.100.100.200"),
    (7, "metadata-azure.test", "168.63.129.16"),
    (8, "own.test", HOUSE),
    (8, "loopback.test", "127.0.0.1"),
    (8, "loopback-six.test", "::1"),
    (8, "bridge.test", "172.17.0.1"),
    (8, "private.test", "10.0.0.5"),
    (8, "private-six.test", "fd12:3456::5"),
    (8, "carrier.test", "100.64.0.5"),
    (8, "any.test", "0.0.0.0"),
    (8, "any-six.test", "::"),
    (8, "multicast.test", "224.0.0.251"),
    (10, "nat64.test", "64:ff9b::a00:5"),
    (10, "six-to-four.test", "2002:a00:5::1"),
    (10, "mapped.test", "::ffff:10.0.0.5"),
    (10, "compatible.test", "::10.0.0.5"),
    (10, "teredo.test", "2001:0:a00:5::1"),
];

const OTHERS: [&str; 6] =
    ["ok.test", "plain.test", "flip.test", "mixed.test", "redirect.test", "six.test"];

fn policy() -> String {
    let forbidden = FORBIDDEN.map(|(_, name, _)| name);
    let hosts = [OTHERS.as_slice(), &forbidden].concat().join(", ");
    let plain = "{ host: plain.test, ports: [80] }, { host: redirect.test, ports: [80, 443] }";
    format!("version: 1\negress: {{ implement: {{ allow: [{hosts}, {plain}] }} }}\n")
}

fn wishes() -> Vec<&'static str> {
    let forbidden = FORBIDDEN.map(|(_, name, _)| name);
    let hosts = [OTHERS.as_slice(), &forbidden].concat();
    let plain = ["{ host: plain.test, ports: [80] }", "{ host: redirect.test, ports: [80, 443] }"];
    hosts.into_iter().chain(plain).flat_map(|host| ["--allow", host]).collect()
}

fn prepare(internet: &Internet) {
    for (_, name, address) in FORBIDDEN {
        internet.points(name, &[address]);
    }
    let (public, private): (IpAddr, IpAddr) =
        (PUBLIC.parse().unwrap(), "10.0.0.5".parse().unwrap());
    internet.name("flip.test", move |before| vec![if before == 0 { public } else { private }]);
    internet.points("mixed.test", &["10.0.0.5", PUBLIC, "169.254.169.254", "fd12:3456::5"]);
    internet.points("six.test", &[PUBLIC_6]);
    let closing = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\narrived";
    internet.site("flip.test", move |_| Reply::Bytes(closing.to_vec()));
    internet.site("redirect.test", |request| {
        let to = REDIRECTS.iter().find(|(path, ..)| *path == request.path());
        let to = to.map_or("/", |(_, to, _)| to);
        let head = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        Reply::Bytes(head.into_bytes())
    });
}

/// The kernel inside refuses it: there is nowhere to go, and nobody to write it down.
fn unreachable(case: u16, line: &str) -> Attempt {
    let words: Vec<&str> = line.split(' ').collect();
    let refused = ["denied ECONNREFUSED", "denied ENETUNREACH", "denied EHOSTUNREACH"];
    // The time is of the attempt alone: inside there is nobody to wait for.
    let quick = [&["within", "100"], words.as_slice()].concat();
    probe(case, &quick)
        .says(&refused)
        .control(Control::House(words.iter().map(|&word| word.to_owned()).collect()))
}

fn odd(case: u16, kind: &str) -> Attempt {
    let denied = ["denied EPERM", "denied EACCES", "denied EAFNOSUPPORT", "denied EPROTONOSUPPORT"];
    probe(case, &["send", kind, &format!("{PUBLIC}:9999")]).says(&denied)
}

fn layers_three_and_four() -> Vec<Attempt> {
    let lines = [
        (1, format!("tcp {PUBLIC}:9999")),
        (1, format!("tcp {PUBLIC}:22")),
        (1, "tcp 10.0.0.5:8080".to_owned()),
        (2, format!("tcp [{PUBLIC_6}]:9999")),
        (2, format!("tcp [::ffff:{PUBLIC}]:9999")),
        (3, format!("udp {PUBLIC}:443")),
        (3, format!("udp {PUBLIC}:123")),
        (3, format!("udp {PUBLIC}:9999")),
        (3, format!("udp [{PUBLIC_6}]:443")),
        (3, format!("udp [::ffff:{PUBLIC}]:9999")),
        (7, "tcp 169.254.169.254:8080".to_owned()),
        (7, "udp 169.254.169.254:9999".to_owned()),
        (7, "tcp [fd00:ec2::254]:8080".to_owned()),
        (8, "tcp 192.168.77.2:9999".to_owned()),
        (8, "tcp 172.17.0.1:9999".to_owned()),
        (11, format!("tcp {PUBLIC}:25")),
        (11, format!("tcp {PUBLIC}:8443")),
        (13, format!("udp {PUBLIC}:853")),
        (13, format!("tcp {PUBLIC}:853")),
        (13, "udp 10.0.0.5:5353".to_owned()),
        (13, "udp 10.0.0.5:5355".to_owned()),
    ];
    let mut all: Vec<Attempt> = lines.iter().map(|(case, line)| unreachable(*case, line)).collect();
    all.extend(["ping", "raw"].map(|kind| odd(4, kind)));
    all.extend(["udplite", "sctp", "dccp", "mptcp"].map(|kind| odd(5, kind)));
    all
}

/// The doors that programs without a proxy arrive at, by address.
fn by_address() -> Vec<Attempt> {
    let mut all = Vec::new();
    let ok = curl(&["--noproxy", "*", "https://ok.test/"]);
    for (case, address) in [
        (1, PUBLIC.to_owned()),
        (2, format!("[{PUBLIC_6}]")),
        (2, format!("[::ffff:{PUBLIC}]")),
        (7, "169.254.169.254".to_owned()),
        (7, "[fd00:ec2::254]".to_owned()),
        (7, "100.100.100.200".to_owned()),
        (7, "168.63.129.16".to_owned()),
        (8, HOUSE.to_owned()),
    ] {
        for (scheme, told, code) in [
            // Without a name in its hello a program cannot be told anything.
            ("https", "curl: (35)", "mismatch"),
            ("http", "403", "address"),
        ] {
            let url = format!("{scheme}://{address}/latest/meta-data/");
            let line = curl(&["--noproxy", "*", "-k", "--globoff", &url]);
            let one = attempt(case, &format!("{url} without a proxy"), &line, &ok);
            all.push(one.says(&[told]).refused(code));
        }
    }
    all
}

/// Hosts that the proxy is asked for, and that are none.
const ADDRESSES: [(u16, &str); 29] = [
    (6, "93.184.216.34"),
    (6, "2130706433"),
    (6, "0177.1"),
    (6, "0x7f.1"),
    (6, "0x7f000001"),
    (6, "127.1"),
    (6, "0127.0.0.1"),
    (6, "127.0.0.1."),
    (6, "1572395042"),
    (6, "ok.test."),
    (6, "evil.test."),
    (8, "localhost."),
    (6, "[2606:2800:220:1::34]"),
    (6, "[::ffff:93.184.216.34]"),
    (6, "[fe80::1%25eth0]"),
    (6, "[fe80::1%eth0]"),
    (6, "%39%33.184.216.34"),
    (6, "ok%2etest"),
    (6, "ok.test%00.evil.test"),
    (6, "93.184.216.34.nip%2eio"),
    (7, "169.254.169.254"),
    (7, "[fd00:ec2::254]"),
    (7, "100.100.100.200"),
    (7, "168.63.129.16"),
    (8, "127.0.0.1"),
    (8, "[::1]"),
    (8, "192.168.77.1"),
    (8, "172.17.0.1"),
    (8, "0.0.0.0"),
];

/// Whether a host is an address or not a host at all, the proxy says so before anybody looks anything up.
fn by_proxy() -> Vec<Attempt> {
    let connect = |place: &str| format!("CONNECT {place} HTTP/1.1\\r\\nHost: {place}\\r\\n\\r\\n");
    let get = |host: &str| {
        format!("GET http://{host}/ HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n")
    };
    let mut all = Vec::new();
    let plain = get("plain.test");
    let control = || Control::Inside(probing(&["say", PROXY, &plain]));
    for (case, host) in ADDRESSES {
        // What is no host at all is not an address either.
        let is_host = !host.contains('%') && !host.ends_with('.');
        let code = if is_host { "address" } else { "malformed" };
        for bytes in [connect(&format!("{host}:443")), get(host)] {
            let one = probe(case, &["say", PROXY, &bytes]);
            all.push(one.says(&["HTTP/1.1 403", "HTTP/1.1 400"]).refused(code).control(control()));
        }
    }
    for (case, place) in [
        (7, "metadata.google.internal:80"),
        (8, "localhost:80"),
        (8, "lamp.internal:443"),
        (11, "ok.test:22"),
        (11, "ok.test:25"),
        (11, "ok.test:80"),
        (11, "ok.test:8443"),
        (6, "EVIL.test:443"),
    ] {
        let one = probe(case, &["say", PROXY, &connect(place)]);
        all.push(
            one.says(&["HTTP/1.1 403", "HTTP/1.1 400"]).refused("not_allowed").control(control()),
        );
    }
    all
}

/// Names that a rule allows, which lead to addresses that nobody may dial: they are looked up, and not dialled.
fn by_name() -> Vec<Attempt> {
    let ok = curl(&["https://ok.test/"]);
    let mut all: Vec<Attempt> = Vec::new();
    for (case, name, address) in FORBIDDEN {
        let url = format!("https://{name}/");
        let one = attempt(case, &format!("{name}, which is {address}"), &curl(&[&url]), &ok);
        all.push(one.says(&["403"]).refused("address").though(is_lookup));
    }
    all
}

/// Where `redirect.test` leads, by its path, and what becomes of it.
const REDIRECTS: [(&str, &str, &str); 4] = [
    ("/aws", "http://169.254.169.254/latest/meta-data/", "address"),
    ("/six", "http://[fd00:ec2::254]/latest/", "address"),
    ("/google", "https://metadata.google.internal/", "not_allowed"),
    ("/evil", "https://secret-data.evil.test/", "not_allowed"),
];

fn redirects() -> Vec<Attempt> {
    let ok = curl(&["https://ok.test/"]);
    let redirected = REDIRECTS.map(|(path, to, code)| {
        let url = format!("https://redirect.test{path}");
        let line = curl(&["--location", "--globoff", &url]);
        let one = attempt(7, &format!("a redirect to {to}"), &line, &ok);
        one.says(&["403"]).refused(code).though(|arrival| {
            // The host that redirects is asked, and that is all.
            is_lookup(arrival)
                || matches!(arrival, Arrival::Packet { to, .. } if to.to_string() == PUBLIC)
                || matches!(arrival, Arrival::Hello { .. })
                || arrival.request().is_some_and(|request| request.host() == "redirect.test")
        })
    });
    redirected.to_vec()
}

/// A name that means one thing when it is looked at and another when it is dialled.
fn rebinding(ground: &mut Ground<'_>) {
    let line = curl(&["https://flip.test/"]);
    let mark = ground.internet.mark();
    let first = ground.house.run(ground.sandbox(), &line);
    ground.check(
        9,
        "a name that is public is dialled",
        &first.to_string(),
        first.out.ends_with("arrived"),
    );
    let ok = curl(&["https://ok.test/"]);
    let second = attempt(9, "the same name, which is private now", &line, &ok);
    ground.deny(&second.says(&["403"]).refused("address").though(is_lookup));
    let mixed = ground.house.run(ground.sandbox(), &curl(&["https://mixed.test/"]));
    let reached = mixed.out.ends_with("arrived");
    ground.check(9, "of mixed addresses the public one is dialled", &mixed.to_string(), reached);
    let dialled: Vec<String> = ground
        .internet
        .since(mark)
        .iter()
        .filter(|arrival| !is_lookup(arrival))
        .filter_map(|arrival| match arrival {
            Arrival::Packet { to, .. } => Some(to.to_string()),
            Arrival::Query { .. }
            | Arrival::Hello { .. }
            | Arrival::Request(_)
            | Arrival::Bytes { .. } => None,
        })
        .collect();
    let public = !dialled.is_empty() && dialled.iter().all(|to| to == PUBLIC);
    ground.check(9, "no other was", &dialled.join(" "), public);
}

/// What listens on the host and in a neighbour is out of reach, though it is there.
fn neighbours(ground: &mut Ground<'_>, other: &str) {
    let house = ground.house;
    let address = house.greeting().split("http://").nth(1).unwrap().split(',').next().unwrap();
    let outside = ground.internet.in_house("curl").args(["-s", "-i", address]).output().unwrap();
    let shows = String::from_utf8_lossy(&outside.stdout).starts_with("HTTP/1.1 ");
    ground.check(8, "control: the server's API answers in the house", address, shows);
    for target in [address.to_owned(), address.replace("127.0.0.1", HOUSE)] {
        let said =
            house.run(ground.sandbox(), &["curl", "-sS", "--noproxy", "*", "-m", "3", &target]);
        ground.check(8, &format!("the API at {target}"), &said.to_string(), said.code == Some(7));
    }
    let socket = house.path().join("run/lamp.sock");
    let argv = probing(&["unix-path", socket.to_str().unwrap()]);
    let said = house.run(ground.sandbox(), &texts(&argv));
    let absent = ["denied ENOENT", "denied EACCES"].iter().any(|word| said.out.contains(word));
    ground.check(8, "the server's socket", &said.to_string(), absent);

    // A neighbour that carries what comes to its port 4711 to its own proxy.
    let carrying = probing(&["relay", "4711", PROXY]);
    let get =
        "GET http://plain.test/ HTTP/1.1\\r\\nHost: plain.test\\r\\nConnection: close\\r\\n\\r\\n";
    let asking = probing(&["say", "127.0.0.1:4711", get]);
    let relay = house.spawn(other, &texts(&carrying));
    let control = until(|| {
        let said = house.run(other, &texts(&asking));
        said.out.contains("arrived").then_some(said)
    });
    ground.check(
        8,
        "control: a neighbour reaches its own port",
        &format!("{control:?}"),
        control.is_some(),
    );
    drop(relay);
    let _relay = house.spawn(other, &texts(&carrying));
    for target in ["127.0.0.1:4711", "[::1]:4711", "198.18.0.1:4711"] {
        let said = house.run(ground.sandbox(), &texts(&probing(&["say", target, get])));
        let refused = said.out.contains("denied ECONNREFUSED");
        ground.check(8, &format!("a neighbour's port at {target}"), &said.to_string(), refused);
    }
}

#[test]
fn no_packet_leaves_but_through_the_gateway() {
    on_the_internet("network", |internet| {
        prepare(internet);
        let house = House::start(internet, &policy());
        let mut tally = Tally::default();
        for tier in ["verified", "standard", "untrusted"] {
            if !house.tiers().contains(tier) {
                tally.unsupported(&format!("the tier `{tier}`"), "this host does not have it");
                continue;
            }
            let with = [&["--tier", tier][..], &wishes()].concat();
            let mut ground = Ground::new(internet, &house, tier, &with);
            for attempt in layers_three_and_four().iter().chain(&by_address()) {
                ground.deny(attempt);
            }
            for attempt in layers_three_and_four() {
                ground.deny(&attempt.by_root());
            }
            if tier == "verified" {
                for attempt in by_proxy().iter().chain(&by_name()).chain(&redirects()) {
                    ground.deny(attempt);
                }
                rebinding(&mut ground);
            } else {
                neighbours(&mut ground, "verified");
            }
            tally.merge(ground.done());
        }
        tally.finish("network", 220);
    });
}
