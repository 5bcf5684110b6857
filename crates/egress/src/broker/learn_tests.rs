//! From reports to a proposed policy.

use super::*;
use crate::broker::refusal::refusal;
use proxy::ask::{Refusal, Way};

fn report(
    host: &str,
    port: u16,
    request: Option<(&str, &str)>,
    outcome: Result<&str, RefusalCode>,
) -> Report {
    let (outcome, rule) = match outcome {
        Ok(rule) => (Outcome::Done { status: Some(200) }, Some(rule.to_owned())),
        Err(code) => {
            let refusal: Refusal = refusal(code, host, port, "no");
            (Outcome::Refused(refusal), None)
        }
    };
    Report {
        host: host.to_owned(),
        port,
        way: Way::Connect,
        request: request.map(|(method, path)| (method.to_owned(), path.to_owned())),
        outcome,
        bytes_up: 0,
        bytes_down: 0,
        address: None,
        millis: 0,
        first_byte_millis: None,
        usage: None,
        peer: None,
        generation: None,
        rule,
    }
}

#[test]
fn the_proposal_is_what_was_used_and_the_narrowest_of_what_was_refused() {
    let mut seen = Seen::default();
    let missing = Err(RefusalCode::NotAllowed);
    for path in ["/a", "/b"] {
        seen.add(&report("github.com", 443, Some(("GET", path)), Ok("github")), None);
    }
    seen.add(
        &report(
            "api.example.com",
            443,
            Some(("GET", "/v1")),
            Ok("api.example.com:443 GET|POST /v1/**"),
        ),
        None,
    );
    seen.add(
        &report(
            "docs.example.com",
            443,
            Some(("GET", "/")),
            Ok("*.example.com:443 GET|HEAD|OPTIONS /**"),
        ),
        None,
    );
    seen.add(&report("db.example.com", 5432, None, Ok("db.example.com:5432 opaque")), None);
    seen.add(&report("npm.example.com", 443, Some(("GET", "/x")), missing), None);
    for path in ["/api/a/1", "/api/b/2", "/api/c", "/api/d", "/api/e"] {
        seen.add(&report("x.example.com", 443, Some(("POST", path)), missing), None);
    }
    seen.add(&report("y.example.com", 8443, Some(("GET", "/only%20one")), missing), None);
    seen.add(&report("z.example.com", 443, None, missing), None);
    seen.add(&report("evil.example.com", 443, None, Err(RefusalCode::Forbidden)), None);
    seen.add(&report("10.0.0.1", 443, None, missing), None);
    let bundle =
        |seen: &Use| (seen.host == "npm.example.com").then(|| "registry:npm".parse().unwrap());
    insta::assert_snapshot!(seen.propose(EgressPhase::Implement, bundle).to_yaml(), @r#"
    egress:
      implement:
        allow:
          - "*.example.com"   # used 1×
          - github   # used 2×
          - { host: api.example.com, ports: [443], methods: [GET, POST], paths: [/v1/**] }   # used 1×
          - { host: db.example.com, ports: [5432], opaque: true }   # used 1×
          - registry:npm   # refused 1×: allow it only if it is meant
          - { host: x.example.com, methods: [POST], paths: [/api/**] }   # refused 5×: allow it only if it is meant
          - { host: y.example.com, ports: [8443], methods: [GET], paths: [/**] }   # refused 1×: allow it only if it is meant
          - { host: z.example.com, methods: [GET, HEAD], paths: [/**] }   # refused 1×: allow it only if it is meant
    "#);
}

#[test]
fn what_an_attacker_makes_up_fills_nothing() {
    let mut seen = Seen::default();
    for number in 0..5_000 {
        let path = format!("/{number}");
        seen.add(
            &report("x.example.com", 443, Some(("GET", &path)), Err(RefusalCode::NotAllowed)),
            None,
        );
    }
    assert_eq!((seen.uses.len(), seen.forgotten), (MOST, 3_000));
}
