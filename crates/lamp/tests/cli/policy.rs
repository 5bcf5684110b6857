//! `lamp policy`.

use crate::world::World;

const POLICY: &str = "\
version: 1
egress:
  research: { allow: [github] }
  implement:
    allow:
      - github
      - model:anthropic
      - { host: api.example.com, methods: [GET, POST], paths: [/v1/**] }
      - internal:cache
    deny:
      - bad.example.com
      - { host: api.example.com, methods: [POST], paths: [/v1/admin/**] }
internal:
  - { name: cache, host: cache.corp.example.com, addresses: [10.20.0.5], ca: corp-ca.pem }
";

fn world() -> World {
    let world = World::new();
    world.write("policy.yaml", POLICY);
    world
}

#[test]
fn a_right_policy_says_what_it_opens() {
    insta::assert_snapshot!(world().lamp("policy check policy.yaml").story(), @r"
    exit 0
    --- out
    setup: closed
    research: 1 allowed, 0 denied
      + github
    implement: 4 allowed, 2 denied
      + github
      + model:anthropic
      + internal:cache
      + api.example.com:443 GET|POST /v1/**
      - api.example.com:443 POST /v1/admin/**
      - bad.example.com:80,443 opaque
    review: closed

    policy.yaml: right
    ");
}

#[test]
fn a_policy_that_opens_too_much_is_refused_line_by_line() {
    let world = World::new();
    world.write(
        "policy.yaml",
        "version: 1\negress:\n  implement:\n    allow:\n      - githup\n      - '*'\n      - '*.co.uk'\n      \
         - '*.pages.dev'\n      - 10.0.0.1\n      - cloud:ibm\n      - internal:nobody\n      - { host: '*', opaque: true }\n",
    );
    insta::assert_snapshot!(world.lamp("policy check policy.yaml").story(), @r"
    exit 1
    --- out
    policy.yaml:5:9: `egress.implement.allow[0]`: unknown bundle `githup`
      help: did you mean `github`?
    policy.yaml:6:9: `egress.implement.allow[1]`: `*` would allow every host
      help: name the hosts, or use `*.example.com`
    policy.yaml:7:9: `egress.implement.allow[2]`: `*.co.uk` would allow every host under a shared suffix
      help: name the hosts, or use `*.example.com`
    policy.yaml:8:9: `egress.implement.allow[3]`: `*.pages.dev` would allow every host under a shared suffix
      help: name the hosts, or use `*.example.com`
    policy.yaml:9:9: `egress.implement.allow[4]`: `10.0.0.1` is an address; rules name hosts
      help: name the hosts, or use `*.example.com`
    policy.yaml:10:9: `egress.implement.allow[5]`: unknown cloud provider `ibm`
      help: did you mean `cloud:aws`?
    policy.yaml:11:9: the internal host `nobody` is not declared
      help: add it under `internal:`, with its addresses
    policy.yaml:12:17: `egress.implement.allow[7].host`: `*` would allow every host
      help: write it as `api.example.com` or `*.example.com`

    The policy is wrong; a server would keep the one that it has.
    ");
}

#[test]
fn an_explanation_names_the_rule_and_the_remedy() {
    let world = world();
    let explain =
        |line: &str| world.lamp(&format!("policy explain --file policy.yaml {line}")).story();
    let all = [
        explain("https://github.com/acme/shop"),
        explain("https://api.example.com/v1/orders --method POST"),
        explain("https://api.example.com/v1/admin/x --method POST"),
        explain("https://paste.example.com/new --method POST"),
        explain("https://api.example.com/v1/orders --phase research"),
        explain("https://cache.corp.example.com/x --method PUT"),
        explain("https://api.anthropic.com/v1/messages --method POST"),
        explain("ftp://example.com"),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn programs_get_the_explanation_as_json() {
    let ended = world().lamp("policy explain --file policy.yaml --json https://paste.example.com/");
    let json: serde_json::Value = serde_json::from_str(&ended.out()).unwrap();
    assert_eq!(json["verdict"], "deny");
    assert_eq!(json["rule"], "organisation");
    assert_eq!(json["layers"][0]["says"], "says nothing");
}

#[test]
fn a_table_of_expectations_is_held_against_the_policy() {
    let world = world();
    world.write(
        "test.yaml",
        "version: 1\npolicy: policy.yaml\nexpect:\n  \
         - { url: 'https://github.com/acme/shop', phase: research, expect: allow, by: github }\n  \
         - { url: 'https://api.example.com/v1/admin/x', method: POST, phase: implement, expect: allow }\n  \
         - { url: 'https://api.example.com/v1/x', phase: implement, expect: allow, by: github }\n",
    );
    insta::assert_snapshot!(world.lamp("policy test test.yaml").story(), @r"
    exit 1
    --- out
    ok: GET https://github.com/acme/shop while `research`: allow by `github`
    wrong: POST https://api.example.com/v1/admin/x while `implement`: deny by `api.example.com:443 POST /v1/admin/**`
      expected allow; the organisation denies `api.example.com:443 POST /v1/admin/**` while `implement`
    wrong: GET https://api.example.com/v1/x while `implement`: allow by `api.example.com:443 GET|POST /v1/**`
      expected allow by `github`; every layer allows it

    2 of 3 expectations are not met.
    ");
    world.write(
        "wrong.yaml",
        "version: 1\nexpect:\n  - { url: 'https://x.example.com', phase: work, expect: maybe }\n",
    );
    insta::assert_snapshot!(world.lamp("policy test wrong.yaml").story(), @r"
    exit 1
    --- err
    error: cannot use `wrong.yaml`
      caused by: wrong.yaml:3:44: `expect[0].phase` must be one of `setup`, `research`, `implement`, `review`, not `work`
      help: choose one of them
    wrong.yaml:3:58: `expect[0].expect` must be `allow` or `deny`, not `maybe`
      help: choose one of them

    hint: correct it, and try again
    ");
}

#[test]
fn without_a_server_there_is_nothing_to_learn_from() {
    let ended = world().lamp("policy learn --sandbox web");
    assert_eq!(ended.code(), Some(1));
    assert!(ended.err().contains("no server answers"), "{}", ended.err());
}

/// The example in the tree is right, and holds.
#[test]
fn the_example_table_holds() {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/policy-test.yaml");
    let ended = world().lamp(&format!("policy test {examples}"));
    assert_eq!(ended.code(), Some(0), "{}", ended.story());
}
