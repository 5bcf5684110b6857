//! What whoever runs a server does and sees while sandboxes work: rules that change under open connections, rows about credentials, money that is
//! used up and raised. With the real `lamp up`, in the toy internet.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot begin fails"
)]

use std::time::{Duration, Instant};

use serde_json::Value;
use tests::internet::{Arrival, House, Internet, Plan, Request, Running, breathe, json, ok};

const PATIENCE: Duration = Duration::from_secs(20);

fn on_the_internet(play: impl FnOnce(&Internet)) {
    match Internet::build() {
        Ok(internet) => play(&internet),
        Err(why) => unsupported::whole(&why),
    }
}

fn within(mut is_so: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if is_so() {
            return true;
        }
        breathe();
    }
    false
}

/// The rows of the audit log with this action, once there are so many.
fn rows(house: &House<'_>, action: &str, count: usize) -> Vec<Value> {
    let data = house.path().join("data");
    let read = || -> Vec<Value> {
        let said = house.lamp(&["audit", "export", "--data", data.to_str().unwrap()]);
        let rows = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.filter(|row| row["action"] == action).collect()
    };
    within(|| read().len() >= count);
    read()
}

fn policy(hosts: &[&str]) -> String {
    let rules: Vec<String> =
        hosts.iter().map(|host| format!("{{ host: {host}, opaque: true }}")).collect();
    format!("version: 1\negress: {{ implement: {{ allow: [{}] }} }}\n", rules.join(", "))
}

/// A connection through the proxy that stays open until somebody closes it.
fn tunnel(house: &House<'_>, internet: &Internet, host: &str) -> Running {
    let mark = internet.mark();
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT {host}:443 HTTP/1.1\\r\\nHost: {host}:443\\r\\n\\r\\n' >&3; cat <&3"
    );
    let running = house.spawn("try", &["bash", "-c", &script]);
    let arrived = internet
        .awaited(mark, |arrival| matches!(arrival, Arrival::Packet { port: Some(443), .. }));
    assert!(!arrived.is_empty(), "the tunnel to {host} is open");
    running
}

#[test]
fn a_tunnel_that_new_rules_refuse_is_closed_and_another_goes_on() {
    on_the_internet(|internet| {
        let house = House::start(internet, &policy(&["one.test", "two.test"]));
        let allow = ["{ host: one.test, opaque: true }", "{ host: two.test, opaque: true }"];
        house.sandbox("try", &["--tier", "verified", "--allow", allow[0], "--allow", allow[1]]);
        let mut one = tunnel(&house, internet, "one.test");
        let mut two = tunnel(&house, internet, "two.test");
        house.write("policy.yaml", "version: 1\negress: { implement: { allow: [githup] } }\n");
        let wrong = house.lamp(&["policy", "reload"]);
        assert!(!wrong.succeeded() && wrong.err.contains("githup"), "{wrong}");
        assert!(one.is_running() && two.is_running(), "what is wrong changes nothing");
        house.write("policy.yaml", &policy(&["two.test"]));
        let reloaded = house.lamp(&["policy", "reload"]);
        assert!(reloaded.out.contains("- organisation implement allow: one.test"), "{reloaded}");
        assert!(within(|| !one.is_running()), "the tunnel is closed");
        assert!(one.said().out.starts_with("HTTP/1.1 200"), "it was open before");
        assert!(two.is_running(), "the other is not");
        let refused = house.run("try", &["curl", "-sS", "-m", "9", "-k", "https://one.test/"]);
        assert!(!refused.succeeded(), "{refused}");
    });
}

#[test]
fn each_use_of_a_credential_is_a_row() {
    const VALUE: &str = "the-real-value-of-the-token";
    on_the_internet(|internet| {
        internet.site("api.test", |_| ok("hello"));
        let house =
            House::start(internet, "version: 1\negress: { implement: { allow: [api.test] } }\n");
        let set =
            ["secret", "set", "TOKEN", "--host", "api.test", "--header", "Authorization: Bearer"];
        assert!(house.lamp_reading(&set, VALUE.as_bytes()).succeeded());
        let words = ["--tier", "verified", "--allow", "api.test", "--secret", "TOKEN"];
        house.sandbox("try", &words);
        let mark = internet.mark();
        let script = "curl -sS -m 9 -H \"Authorization: Bearer $TOKEN\" https://api.test/me";
        let said = house.shell("try", script);
        assert_eq!(said.out, "hello", "{said}");
        let arrived = internet.since(mark);
        let requests: Vec<&Request> = arrived.iter().filter_map(Arrival::request).collect();
        assert_eq!(requests[0].header("authorization"), Some(&*format!("Bearer {VALUE}")));
        let rows = rows(&house, "credential.used", 1);
        assert_eq!((rows.len(), &rows[0]["subject"]), (1, &"TOKEN".into()), "{rows:?}");
        let detail: Value = serde_json::from_str(rows[0]["detail"].as_str().unwrap()).unwrap();
        assert_eq!((&detail["host"], &detail["path"]), (&"api.test".into(), &"/me".into()));
        assert!(!format!("{rows:?}").contains(VALUE));
    });
}

const ANSWER: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5",
    "content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":2}}"#;

fn server(limit: &str) -> String {
    format!(
        "version: 1\nsandboxes: {{ warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB }}\nmodels:\n  - {{ name: anthropic, provider: anthropic, secret: KEY }}\n\
         budgets:\n  - {{ scope: person, period: day, limit: {limit} }}\n"
    )
}

#[test]
fn a_model_without_money_is_refused_in_its_own_words_and_goes_on_when_the_budget_is_raised() {
    on_the_internet(|internet| {
        internet.site("api.anthropic.com", |_| json(ANSWER));
        let policy = "version: 1\negress: { implement: { allow: [model:anthropic] } }\n".to_owned();
        let house =
            House::start_with(internet, &Plan { server: server("$0.01"), ..Plan::new(&policy) });
        let set = ["secret", "set", "KEY", "--host", "api.anthropic.com"];
        assert!(house.lamp_reading(&set, b"sk-ant-the-companys-own").succeeded());
        house.sandbox("try", &["--tier", "verified", "--allow", "model:anthropic"]);
        // A conversation with a picture in it, of two megabytes.
        let ask = "printf '{\"model\":\"claude-sonnet-4-5\",\"max_tokens\":1000,\"messages\":[{\"role\":\"user\",\"content\":\"' > /tmp/ask; \
            head -c 2000000 /dev/zero | tr '\\0' x >> /tmp/ask; printf '\"}]}' >> /tmp/ask; \
            curl -sS -m 20 -w '\\n%{http_code}' -H 'content-type: application/json' --data-binary @/tmp/ask \
            https://api.anthropic.com/v1/messages";
        let mark = internet.mark();
        let refused = house.shell("try", ask);
        let (body, status) = refused.out.rsplit_once('\n').unwrap_or_default();
        assert_eq!(status, "402", "{refused}");
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(
            (&body["type"], &body["error"]["type"]),
            (&"error".into(), &"billing_error".into())
        );
        assert_eq!(body["error"]["code"], "budget_hit", "{body}");
        let message = body["error"]["message"].as_str().unwrap();
        assert!(message.contains("the budget of the person `local` is $0.01 per day"), "{message}");
        assert!(internet.since(mark).iter().all(|arrival| arrival.request().is_none()));

        house.write("lamp.yaml", &server("$50"));
        let reloaded = house.lamp(&["policy", "reload"]);
        assert!(reloaded.out.contains("~ budgets"), "{reloaded}");
        let answered = house.shell("try", ask);
        assert!(answered.out.ends_with("\n200"), "{answered}");
        let used = rows(&house, "credential.used", 1);
        assert_eq!(used[0]["subject"], "KEY", "{used:?}");
    });
}
