//! What a person sees who gets something wrong.

use proptest::prelude::*;

use super::*;

fn told(path: &str, text: &str) -> String {
    match check(path, text) {
        Ok(checked) => format!("no problem; {}", checked.kind()),
        Err(invalid) => invalid.to_string(),
    }
}

fn agent(text: &str) -> String {
    told("agents/fix.yaml", text)
}

const RIGHT: &str = "\
lamp: { version: 1, name: fix }
agent: { driver: codex }
sandbox: { repositories: [{ name: web }] }
";

#[test]
fn a_right_file_has_no_problem() {
    insta::assert_snapshot!(agent(RIGHT), @"no problem; agent");
}

#[test]
fn misspelt_keys_and_words_are_all_told_with_what_was_meant() {
    insta::assert_snapshot!(agent("\
lamp: { version: 1, nmae: fix }
agnet: { driver: codex }
agent: { driver: cluade-code }
sandbox:
  repositorys: [{ name: web, acess: read }]
  repositories: [{ name: web, access: wirte }]
  compute: { memroy: 8GiB, gpu: 1, bananas: 3 }
  tier: standart
triggers:
  - { on: github.labl, label: lamp }
  - { on: slack.mention, label: lamp }
  - { label: lamp }
egress: { implement: [registry:nmp, gihub, '*', registry, docs.example.com] }
"), @r"
agents/fix.yaml:1:21: `lamp` has no key `nmae`
  help: did you mean `name`?
agents/fix.yaml:2:1: the file has no key `agnet`
  help: did you mean `agent`?
agents/fix.yaml:3:18: `agent.driver` must be one of `claude-code`, `codex`, `opencode`, `gemini`, `pi`, `qwen`, `acp`, `builtin`, `command`, not `cluade-code`
  help: did you mean `claude-code`?
agents/fix.yaml:5:3: `sandbox` has no key `repositorys`
  help: did you mean `repositories`?
agents/fix.yaml:6:39: `sandbox.repositories[0].access` must be `write` or `read`, not `wirte`
  help: did you mean `write`?
agents/fix.yaml:7:14: `sandbox.compute` has no key `memroy`
  help: did you mean `memory`?
agents/fix.yaml:7:28: `sandbox.compute` has no key `gpu`
  help: did you mean `cpu`?
agents/fix.yaml:7:36: `sandbox.compute` has no key `bananas`
  help: its keys are `cpu`, `memory`, `disk`, `timeout`
agents/fix.yaml:8:9: `sandbox.tier` must be one of `verified`, `standard`, `untrusted`, not `standart`
  help: did you mean `standard`?
agents/fix.yaml:10:11: `on` cannot be `github.labl`
  help: did you mean `github.label`?
agents/fix.yaml:11:26: `triggers[1]` has no key `label`
  help: its keys are `channels`
agents/fix.yaml:12:5: `triggers[2]` lacks the key `on`
  help: `on` is one of `slack.mention`, `slack.command`, `github.mention`, `github.label`, `github.assign`, `linear.mention`, `linear.label`, `linear.assign`, `check.failed`, `cron`, `webhook`
agents/fix.yaml:13:23: `egress.implement[0]`: unknown registry `nmp`
  help: did you mean `registry:npm`?
agents/fix.yaml:13:37: `egress.implement[1]`: unknown bundle `gihub`
  help: did you mean `github`?
agents/fix.yaml:13:44: `egress.implement[2]`: `*` would allow every host
  help: name the hosts, or use `*.example.com`
agents/fix.yaml:13:49: `egress.implement[3]`: unknown bundle `registry`
  help: say which, as in `registry:npm`
");
}

#[test]
fn wrong_types_are_told_one_by_one() {
    insta::assert_snapshot!(agent("\
lamp: fix
agent: [codex]
sandbox:
  repositories: web
  variables: [LOG_LEVEL, { name: 1A }, { name: [] }]
  compute: { cpu: many, memory: 8GB, disk: , timeout: 2 hours }
plan: { required: yes, approvers: team:web, timeout: 24 }
checks: { name: tests }
limits: { attempts: '5', budget: 10 }
autonomy: 4
"), @r"
agents/fix.yaml:1:7: `lamp` must be a section with keys, not `fix`
  help: its keys are `version`, `name`, `description`
agents/fix.yaml:2:8: `agent` must be a section with keys, not a list
  help: its keys are `driver`, `model`, `command`
agents/fix.yaml:4:17: `sandbox.repositories` must be a list, not `web`
  help: write `[a, b]`, or one `- item` per line
agents/fix.yaml:5:15: `sandbox.variables[0]` must be a section with keys, not `LOG_LEVEL`
  help: its keys are `name`, `value`, `expose`
agents/fix.yaml:5:34: `sandbox.variables[1].name`: `1A` is not a variable's name
  help: write it as `LOG_LEVEL`: letters, digits and `_`, not beginning with a digit
agents/fix.yaml:5:48: `sandbox.variables[2].name` must be a variable's name, not a list
  help: write it as `LOG_LEVEL`: letters, digits and `_`, not beginning with a digit
agents/fix.yaml:6:19: `sandbox.compute.cpu`: `many` is not a number of processors
  help: write it as `2` or `0.5`; from `0.1` to `16`
agents/fix.yaml:6:33: `sandbox.compute.memory`: `8GB` counts in thousands; sizes are counted in powers of two, as `8GiB`
  help: write it as `512MiB` or `8GiB`; from `256MiB` to `64GiB`
agents/fix.yaml:6:42: `sandbox.compute.disk` is empty, but must be a size
  help: write it as `20GiB`; from `256MiB` to `1TiB`
agents/fix.yaml:6:55: `sandbox.compute.timeout`: `2 hours` is not a duration
  help: write it as `90s`, `30m` or `2h`; at most `24h`
agents/fix.yaml:7:19: `plan.required` must be `true` or `false`, not `yes`
  help: write `true` or `false`, without quotes
agents/fix.yaml:7:35: `plan.approvers` must be a list, not `team:web`
  help: write `[a, b]`, or one `- item` per line
agents/fix.yaml:7:54: `plan.timeout`: `24` is not a duration
  help: write it as `30m`, `24h` or `7d`; at most `90d`
agents/fix.yaml:8:9: `checks` must be a list, not a section with keys
  help: write `[a, b]`, or one `- item` per line
agents/fix.yaml:9:21: `limits.attempts` must be a whole number from 1 to 20, not the text `5`
  help: write a whole number from 1 to 20, without quotes
agents/fix.yaml:9:34: `limits.budget`: `10` lacks its currency
  help: write it in dollars, as `$10` or `$0.50`
agents/fix.yaml:10:11: `autonomy` must be a whole number from 1 to 3, not `4`
  help: write a whole number from 1 to 3, without quotes
");
}

#[test]
fn values_out_of_bounds_say_the_bounds() {
    insta::assert_snapshot!(agent("\
lamp: { version: 2, name: Fix_It }
agent: { driver: codex }
sandbox:
  repositories: []
  compute: { cpu: 32, memory: 128GiB, disk: 1MiB, timeout: 48h }
limits: { attempts: 0, budget: $0 }
plan: { approvers: [], timeout: 365d }
"), @r"
agents/fix.yaml:1:18: `lamp.version` must be `1`, not `2`
  help: write `1`; a newer version needs a newer `lamp`
agents/fix.yaml:1:27: `lamp.name`: `Fix_It` is not an agent's name: 1 to 64 letters in lower case, digits or `-`, beginning with a letter
  help: write it as `fix-issue`
agents/fix.yaml:4:17: `sandbox.repositories` names no repository
  help: name at least one, as `- { name: web }`
agents/fix.yaml:5:19: `sandbox.compute.cpu`: `32` is outside of 0.1 to 16 processors
  help: write it as `2` or `0.5`; from `0.1` to `16`
agents/fix.yaml:5:31: `sandbox.compute.memory`: `128GiB` is outside of 256MiB to 64GiB
  help: write it as `512MiB` or `8GiB`; from `256MiB` to `64GiB`
agents/fix.yaml:5:45: `sandbox.compute.disk`: `1MiB` is outside of 256MiB to 1TiB
  help: write it as `20GiB`; from `256MiB` to `1TiB`
agents/fix.yaml:5:60: `sandbox.compute.timeout`: `48h` is outside of 1s to 1d
  help: write it as `90s`, `30m` or `2h`; at most `24h`
agents/fix.yaml:6:21: `limits.attempts` must be a whole number from 1 to 20, not `0`
  help: write a whole number from 1 to 20, without quotes
agents/fix.yaml:6:32: `limits.budget`: `$0` is outside of $0.000001 to $1000000
  help: write it in dollars, as `$10` or `$0.50`
agents/fix.yaml:7:20: `plan.approvers` is an empty list, so nobody could approve
  help: name someone, or leave `approvers` out
agents/fix.yaml:7:33: `plan.timeout`: `365d` is outside of 1m to 90d
  help: write it as `30m`, `24h` or `7d`; at most `90d`
");
}

#[test]
fn secrets_are_found_and_never_repeated() {
    let text = agent(
        "\
lamp: { version: 1, name: fix }
agent: { driver: codex, api_key: sk-ant-0123456789abcdefghij }
sandbox:
  repositories: [{ name: web }]
  variables:
    - { name: GITHUB_TOKEN, value: ghp_0123456789abcdefghijklmnopqrstuvwxyz }
    - { name: DB_PASSWORD, value: hunter2 }
    - { name: LOG_LEVEL, value: info, expose: env }
  compute: { memory: ghp_0123456789abcdefghijklmnopqrstuvwxyz }
",
    );
    assert!(!text.contains("ghp_0") && !text.contains("sk-ant") && !text.contains("hunter2"));
    insta::assert_snapshot!(text, @r"
    agents/fix.yaml:2:25: `agent` has no key `api_key`
      help: secrets are not kept in files: use `lamp secret set NAME`
    agents/fix.yaml:2:34: this looks like a secret
      help: take it out of the file, revoke it, and store its successor with `lamp secret set NAME`
    agents/fix.yaml:6:36: this looks like a secret
      help: take it out of the file, revoke it, and store its successor with `lamp secret set NAME`
    agents/fix.yaml:7:35: `DB_PASSWORD` sounds like a secret, and its value is in the file
      help: remove `value`, and store it with `lamp secret set NAME`
    agents/fix.yaml:8:47: `expose` is about secrets, and this variable has a value of its own
      help: remove `expose`, or `value`
    agents/fix.yaml:9:22: this looks like a secret
      help: take it out of the file, revoke it, and store its successor with `lamp secret set NAME`
    agents/fix.yaml:9:22: `sandbox.compute.memory`: a value that looks like a secret
      help: write it as `512MiB` or `8GiB`; from `256MiB` to `64GiB`
    ");
}

#[test]
fn what_contradicts_itself_is_told() {
    insta::assert_snapshot!(agent("\
lamp: { version: 1, name: fix }
agent: { driver: command }
phases: { review: { driver: codex, command: ./x }, implement: { driver: acp } }
sandbox:
  repositories: [{ name: web }, { name: web, access: read }]
  variables: [{ name: A, value: '1' }, { name: A }]
checks: [{ name: t, run: make }, { name: t, run: make }]
egress: { implement: [{ host: a.example.com, opaque: true, methods: [GET] }, { host: b.example.com, ports: [] }] }
"), @r"
agents/fix.yaml:2:8: the driver `command` needs a `command`
  help: add `command:` with what to run
agents/fix.yaml:3:45: the driver `codex` brings its own command
  help: remove `command`, or use the driver `command`
agents/fix.yaml:3:63: the driver `acp` needs a `command`
  help: add `command:` with what to run
agents/fix.yaml:5:41: the name `web` is taken
  help: it is already on line 5; choose another
agents/fix.yaml:6:48: the name `A` is taken
  help: it is already on line 6; choose another
agents/fix.yaml:7:42: the name `t` is taken
  help: it is already on line 7; choose another
agents/fix.yaml:8:69: `methods` cannot be seen in opaque traffic
  help: remove `methods`, or `opaque`
agents/fix.yaml:8:108: `ports` is an empty list, so the rule says nothing
  help: name some, or leave `ports` out
");
}

#[test]
fn a_server_file_is_checked_too() {
    insta::assert_snapshot!(told("lamp.yaml", "\
version: 1
listen: { http: localhost, ssh: 127.0.0.1:7180, ftp: 1 }
database: postgres://lamp:hunter2@db/lamp
public_url: lamp.example.com
concurrency: { running: 2, per_person: 8 }
log: { format: jsno }
models: [{ name: a, provider: antropic, key: x }, { name: a, provider: openai }]
defaults: { memory: 100MiB }
"), @r"
    lamp.yaml:2:17: `listen.http`: `localhost` is not an address with a port
      help: write it as `127.0.0.1:7180`, or `0.0.0.0:7180` for every network card
    lamp.yaml:2:49: `listen` has no key `ftp`
      help: its keys are `http`, `ssh`
    lamp.yaml:3:11: `database`: the URL holds a password
      help: write `sqlite:lamp.db` or `postgres://USER@HOST/NAME`; a password goes into the server's PGPASSFILE
    lamp.yaml:4:13: `public_url`: `lamp.example.com` is not a URL
      help: write it as `https://lamp.example.com`, without a password
    lamp.yaml:5:40: `per_person` is more than `running`, which is 2
      help: raise `running`, or lower this one
    lamp.yaml:6:16: `log.format` must be `text` or `json`, not `jsno`
      help: did you mean `json`?
    lamp.yaml:7:31: `models[0].provider` must be one of `anthropic`, `openai`, `gemini`, `openai-compatible`, not `antropic`
      help: did you mean `anthropic`?
    lamp.yaml:7:41: `models[0]` has no key `key`
      help: its keys are `name`, `provider`, `secret`, `url`, `addresses`, `ca`, `model`, `provider_tools`
    lamp.yaml:7:59: the name `a` is taken
      help: it is already on line 7; choose another
    lamp.yaml:8:21: `defaults.memory`: `100MiB` is outside of 256MiB to 64GiB
      help: write it as `512MiB` or `8GiB`; from `256MiB` to `64GiB`
    ");
}

#[test]
fn a_policy_file_is_checked_too() {
    insta::assert_snapshot!(told("policy.yaml", "\
version: 1
egress:
  reserch: { allow: [github] }
  implement:
    allow: [internal:cache, '*.com', 10.0.0.1, { host: a.example.com, paths: [v1, /a/*/b], ports: [0] }]
  review: { deny: [github] }
internal: [{ name: store, host: S3.corp, addresses: [169.254.169.254, 10.0.0.0/8] }]
budgets: [{ scope: persn, period: year, limit: $1 }]
approval: { four_eyes: 'true', approvers: [web] }
triggers: { allow: [email] }
trusted_agents: [{ name: fix, public_key: abc }]
"), @r"
policy.yaml:3:3: `egress` has no key `reserch`
  help: did you mean `research`?
policy.yaml:5:13: the internal host `cache` is not declared
  help: add it under `internal:`, with its addresses
policy.yaml:5:29: `egress.implement.allow[1]`: `*.com` would allow every host under a shared suffix
  help: name the hosts, or use `*.example.com`
policy.yaml:5:38: `egress.implement.allow[2]`: `10.0.0.1` is an address; rules name hosts
  help: name the hosts, or use `*.example.com`
policy.yaml:5:79: `egress.implement.allow[3].paths[0]`: path `v1` does not begin with `/`
  help: write it as `/v1/users`, or `/v1/**` for all below
policy.yaml:5:83: `egress.implement.allow[3].paths[1]`: path `/a/*/b` has a `*` that is not a final `/**`
  help: write it as `/v1/users`, or `/v1/**` for all below
policy.yaml:5:100: `egress.implement.allow[3].ports[0]` must be a whole number from 1 to 65535, not `0`
  help: write a whole number from 1 to 65535, without quotes
policy.yaml:6:11: `egress.review` lacks the key `allow`
  help: add `allow:`
policy.yaml:7:33: `internal[0].host`: host `S3.corp` contains `S`; a host is written with a-z, 0-9, `-` and `.`
  help: write it as `api.example.com`
policy.yaml:7:54: `internal[0].addresses[0]`: `169.254.169.254` is an address that no rule can open: it means this machine, everyone or nobody
  help: write it as `10.1.2.3` or `fd12::1`; one address, not a range
policy.yaml:7:71: `internal[0].addresses[1]`: `10.0.0.0/8` is not an address
  help: write it as `10.1.2.3` or `fd12::1`; one address, not a range
policy.yaml:8:20: `budgets[0].scope` must be one of `task`, `agent`, `person`, `team`, `repository`, `organisation`, not `persn`
  help: did you mean `person`?
policy.yaml:8:35: `budgets[0].period` must be one of `day`, `week`, `month`, not `year`
  help: choose one of them
policy.yaml:9:24: `approval.four_eyes` must be `true` or `false`, not the text `true`
  help: write `true` or `false`, without quotes
policy.yaml:9:44: `approval.approvers[0]`: `web` is not an approver; write `user:NAME`, `team:NAME` or `role:NAME`
  help: write it as `team:web`, `user:ann` or `role:approver`
policy.yaml:10:21: `triggers.allow[0]` must be one of `cli`, `web`, `api`, `slack.mention`, `slack.command`, `github.mention`, `github.label`, `github.assign`, `linear.mention`, `linear.label`, `linear.assign`, `check.failed`, `cron`, `webhook`, not `email`
  help: choose one of them
policy.yaml:11:43: `trusted_agents[0].public_key`: this is not a public key of 64 hexadecimal digits after `ed25519:`
  help: write `ed25519:` and 64 hexadecimal digits
");
}

#[test]
fn what_is_not_a_file_of_ours_says_so() {
    let all = [
        ("an empty file", "agents/a.yaml", String::new()),
        ("only comments", "lamp.yaml", "# nothing\n".to_owned()),
        ("a scalar", "agents/a.yaml", "hello".to_owned()),
        ("a list", "policy.yaml", "- a\n- b\n".to_owned()),
        ("a tab", "lamp.yaml", "listen:\n\thttp: x\n".to_owned()),
        ("an open bracket", "lamp.yaml", "listen: { http: [\n".to_owned()),
        ("a key twice", "lamp.yaml", "version: 1\nlog: {}\nversion: 1\n".to_owned()),
        ("binary garbage", "lamp.yaml", "version: 1\n\u{0}\u{1}\u{2}\u{7f}".to_owned()),
        ("two documents", "lamp.yaml", "version: 1\n---\nversion: 1\n".to_owned()),
        ("a tag", "lamp.yaml", "version: !!int 1\n".to_owned()),
        ("a key that is a list", "lamp.yaml", "version: 1\n? [a]\n: 1\n".to_owned()),
        ("two mebibytes", "lamp.yaml", format!("data: {}\n", "a".repeat(2 * 1024 * 1024))),
        ("deep brackets", "lamp.yaml", format!("data: {}", "[".repeat(10_000))),
        (
            "deep lines",
            "lamp.yaml",
            (0..200).map(|depth| " ".repeat(depth) + "a:\n").collect::<Vec<_>>().concat(),
        ),
        ("a directive", "lamp.yaml", "%YAML 1.1\n---\nversion: 1\n".to_owned()),
        ("an unknown name", "stuff.yaml", "foo: 1\n".to_owned()),
        ("a name that tells nothing", "mine.yaml", "version: 1\n".to_owned()),
    ];
    let told: Vec<String> =
        all.iter().map(|(name, path, text)| format!("{name}\n{}", told(path, text))).collect();
    insta::assert_snapshot!(told.join("\n"), @r"
    an empty file
    agents/a.yaml:1:1: the file is empty
      help: begin with `lamp: { version: 1, name: … }`

    only comments
    lamp.yaml:1:1: the file is empty
      help: begin with `version: 1`

    a scalar
    agents/a.yaml:1:1: the file must be a section with keys, not `hello`
      help: its keys are `lamp`, `agent`, `phases`, `triggers`, `sandbox`, `egress`, `plan`, `checks`, `limits`, `autonomy`, `visibility`

    a list
    policy.yaml:1:1: the file must be a section with keys, not a list
      help: its keys are `version`, `organisation`, `egress`, `internal`, `tier`, `limits`, `budgets`, `approval`, `autonomy`, `triggers`, `registries`, `trusted_agents`

    a tab
    lamp.yaml:2:2: this is not YAML: tabs disallowed within this context (block indentation)
      help: this line is indented with a tab; use spaces

    an open bracket
    lamp.yaml:1:17: this is not YAML: unclosed bracket '['
      help: check the indentation, quotes and brackets around here

    a key twice
    lamp.yaml:3:1: the key `version` is here twice
      help: it is already on line 1; keep one of the two

    binary garbage
    lamp.yaml:2:1: the file contains a control character
      help: save the file as plain UTF-8 text

    two documents
    lamp.yaml:3:1: a second document begins here
      help: write each into a file of its own

    a tag
    lamp.yaml:1:16: the tag `!!int` is not read
      help: remove it: the key decides what its value is

    a key that is a list
    lamp.yaml:2:3: a key must be a word, not a list
      help: name it

    two mebibytes
    lamp.yaml:1:1: the file has 2097159 bytes; 1048576 is the limit
      help: check that this is the right file

    deep brackets
    lamp.yaml:1:39: nested more than 32 levels deep
      help: no key of ours is that deep; check the indentation and brackets

    deep lines
    lamp.yaml:33:33: nested more than 32 levels deep
      help: no key of ours is that deep; check the indentation and brackets

    a directive
    lamp.yaml:1:1: this is not YAML: YAML directives are disallowed
      help: remove the line that begins with `%`

    an unknown name
    stuff.yaml:1:1: cannot tell which kind of file this is
      help: name it `lamp.yaml` or `policy.yaml`, or put it into a directory `agents`

    a name that tells nothing
    mine.yaml:1:1: cannot tell which kind of file this is
      help: name it `lamp.yaml` or `policy.yaml`, or put it into a directory `agents`
    ");
}

#[test]
fn a_bomb_of_anchors_does_not_go_off() {
    let nine = |before: char| vec![format!("*{before}"); 9].join(", ");
    let lines = ('b'..='z').zip('a'..='y');
    let lines = lines.map(|(letter, before)| format!("{letter}: &{letter} [{}]\n", nine(before)));
    let text =
        "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned() + &lines.collect::<Vec<_>>().concat();
    let invalid = check("lamp.yaml", &text).unwrap_err();
    assert_eq!(invalid.problems.len(), 101);
    insta::assert_snapshot!(invalid.problems[..3].iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"), @r"
    lamp.yaml:1:1: the file has no key `a`
      help: its keys are `version`, `listen`, `public_url`, `data`, `database`, `policy`, `concurrency`, `retention`, `log`, `defaults`, `sandboxes`, `repositories`, `models`, `prompts`, `pull_requests`, `limits`, `budgets`, `egress`, `registries`, `clouds`, `github_servers`, `traffic`
    lamp.yaml:1:7: anchors are not read
      help: write the value out where it is used
    lamp.yaml:2:1: the file has no key `b`
      help: its keys are `version`, `listen`, `public_url`, `data`, `database`, `policy`, `concurrency`, `retention`, `log`, `defaults`, `sandboxes`, `repositories`, `models`, `prompts`, `pull_requests`, `limits`, `budgets`, `egress`, `registries`, `clouds`, `github_servers`, `traffic`
    ");
    insta::assert_snapshot!(invalid.problems[100], @r"
    lamp.yaml:10:36: and 177 more problems
      help: fix the ones above first, or check that this is the right file
    ");
}

#[test]
fn a_file_of_wrong_things_only_is_given_up_early() {
    let keys: Vec<String> = (0..80_000).map(|number| format!("k{number}: 1\n")).collect();
    let rules = format!("{RIGHT}egress: {{ setup: [{}] }}\n", "gihub, ".repeat(100_000));
    let lists: Vec<String> = (0..30_000).map(|_| "- { nme: 1, foo: 2 }\n".to_owned()).collect();
    let lists = format!("{RIGHT}checks:\n{}", lists.concat());
    let files = [("lamp.yaml", keys.concat()), ("agents/a.yaml", rules), ("agents/a.yaml", lists)];
    let ends: Vec<String> = files
        .iter()
        .map(|(path, text)| check(path, text).unwrap_err().problems[100].what.clone())
        .collect();
    insta::assert_snapshot!(ends.join("\n"), @r"
    and at least 900 more problems
    and at least 900 more problems
    and at least 900 more problems
    ");
}

#[test]
fn a_file_with_an_unusual_name_is_known_by_its_keys() {
    assert_eq!(check("/tmp/x.yml", RIGHT).unwrap().kind(), FileKind::Agent);
    let server = "version: 1\nlisten: {}\nlogg: {}\n";
    insta::assert_snapshot!(told("x.yaml", server), @r"
    x.yaml:3:1: the file has no key `logg`
      help: did you mean `log`?
    ");
    let policy = "version: 1\napproval: { four_eyes: true }\n";
    assert_eq!(check("x.yaml", policy).unwrap().kind(), FileKind::Policy);
    assert_eq!(check("agents\\fix.yaml", RIGHT).unwrap().kind(), FileKind::Agent);
}

#[test]
fn programs_get_the_same_by_name() {
    let invalid = check("lamp.yaml", "version: 1\nlisten: { htpp: 1 }\n").unwrap_err();
    insta::assert_snapshot!(invalid.problems[0].to_json(), @r#"{"file":"lamp.yaml","line":2,"column":11,"what":"`listen` has no key `htpp`","help":"did you mean `http`?"}"#);
}

#[test]
fn words_stay_words() {
    let text = RIGHT.to_owned() + "checks: [{ name: no, run: 1.10 }]\n";
    let Ok(Checked::Agent(file)) = check("agents/a.yaml", &text) else { panic!("an agent") };
    assert_eq!(file.checks[0].name.as_str(), "no");
    assert_eq!(file.checks[0].run.as_str(), "1.10");
}

#[test]
fn the_defaults_of_a_server_are_those_of_an_almost_empty_file() {
    let read = check("lamp.yaml", "version: 1\n").unwrap();
    assert_eq!(read, Checked::Server(Box::default()));
    insta::assert_snapshot!(serde_json::to_string_pretty(&read.to_json()).unwrap(), @r#"
    {
      "version": 1,
      "listen": {
        "http": "127.0.0.1:7180",
        "ssh": "127.0.0.1:7122"
      },
      "concurrency": {
        "running": 4,
        "per_repository": 4,
        "per_person": 4
      },
      "retention": {
        "transcripts": "90d",
        "logs": "30d",
        "sandboxes": "7d",
        "images": "30d"
      },
      "log": {
        "format": "text",
        "level": "info"
      },
      "defaults": {
        "base": "host",
        "tier": "standard",
        "cpu": 1,
        "memory": "4GiB",
        "disk": "20GiB",
        "timeout": "2h",
        "silence": "20m",
        "output": "256MiB",
        "attempts": 5,
        "budget": "$10"
      },
      "sandboxes": {
        "disk_budget": "100GiB",
        "disk_guaranteed": "1GiB",
        "warm": 1
      },
      "repositories": [],
      "models": [],
      "pull_requests": {
        "co_authors": [],
        "branch": "agent/{task}-{slug}"
      },
      "limits": {},
      "budgets": [],
      "egress": {},
      "registries": [],
      "clouds": [],
      "github_servers": [],
      "traffic": {
        "requests": 1000000,
        "upload": "16GiB",
        "download": "256GiB"
      }
    }
    "#);
}

/// Pieces of which wrong files are made.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "lamp", "agent", "sandbox", "compute", "egress", "version", ": ", ":\n", "\n", "\n  ",
        "\n    ", "- ", "[", "]", "{", "}", ", ", "1", "$10", "8GiB", "2h", "&a ", "*a", "!t ",
        "'", "\"", "|\n", ">\n", "#", "? ", "%", "\t", "~", "é", "---\n", "...\n", "<<", "@", "`",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|all| all.concat())
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), kind in prop::sample::select(&FileKind::ALL[..])) {
        let _ = check_as(kind, "x", &text);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = check("lamp.yaml", &String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn no_odd_yaml_makes_it_panic(text in pieces(), kind in prop::sample::select(&FileKind::ALL[..])) {
        let text_of_problem = check_as(kind, "x", &text).map_err(|invalid| invalid.problems);
        // A file is right, or someone is told what to do.
        prop_assert!(text_of_problem.map_or_else(|problems| !problems.is_empty(), |_| true));
    }

    /// A right file with a hole in it is a wrong file, not a crash.
    #[test]
    fn no_cut_makes_it_panic(from in 0..RIGHT.len(), length in 0..20usize) {
        let end = (from + length).min(RIGHT.len());
        let text = format!("{}{}", &RIGHT[..from], &RIGHT[end..]);
        let _ = check("agents/a.yaml", &text);
    }
}
