//! What a repository's own agents may say.

use super::*;

const PLAIN: &str = "lamp: { version: 1, name: fix }\nagent: { driver: command, command: ./fix }\n\
    sandbox:\n  repositories: [{ name: any }]\n";

fn granted() -> Granted {
    Granted {
        repository: "acme/web".parse().unwrap(),
        secrets: vec!["NPM_TOKEN".parse().unwrap()],
        images: vec!["node:24".parse().unwrap()],
    }
}

fn told(more: &str) -> String {
    match check("agents/fix.yaml", &format!("{PLAIN}{more}"), &granted()) {
        Ok(_file) => "right".to_owned(),
        Err(invalid) => invalid.to_string(),
    }
}

#[test]
fn what_the_server_grants_may_be_asked_for() {
    let asked = "  image: { base: node:24, setup: npm ci }\n  variables: [{ name: NPM_TOKEN }, { name: LEVEL, value: info }]\n\
        egress: { setup: [registry:npm] }\nchecks: [{ name: tests, run: make test }]\n";
    assert_eq!(told(asked), "right");
    for name in ["web", "acme/web", "any"] {
        let text = PLAIN.replace("name: any", &format!("name: {name}"));
        assert!(check("agents/fix.yaml", &text, &granted()).is_ok(), "{name}");
    }
}

#[test]
fn what_goes_beyond_is_told_with_its_place_and_what_helps() {
    let all = [
        "  image: { base: /etc }\n",
        "  image: { base: host }\n",
        "  image: { base: \"internal.example:5000/x\" }\n",
        "  services: [{ name: db, image: postgres:18 }]\n",
        "  variables: [{ name: DEPLOY_KEY }]\n",
        "  variables: [{ name: NPM_TOKEN, expose: env }]\n",
        "  push: agent\n",
        "egress: { implement: [github, 'model:openai'] }\n",
    ];
    let names = PLAIN.replace("{ name: any }", "{ name: web }, { name: payroll }");
    let program = PLAIN.replace("name: fix", "name: codex");
    let read = |text: &str| check("agents/fix.yaml", text, &granted()).unwrap_err().to_string();
    let lines = all.map(told).concat() + &read(&names) + &read(&program);
    insta::assert_snapshot!(lines, @r"
    agents/fix.yaml:5:18: the server does not grant `acme/web` the image `/etc`
      help: remove it, or have the server's `lamp.yaml` say `repositories: [{ name: acme/web, images: [/etc] }]`
    agents/fix.yaml:5:18: the server does not grant `acme/web` the image `host`
      help: remove it, or have the server's `lamp.yaml` say `repositories: [{ name: acme/web, images: [host] }]`
    agents/fix.yaml:5:18: the server does not grant `acme/web` the image `internal.example:5000/x`
      help: remove it, or have the server's `lamp.yaml` say `repositories: [{ name: acme/web, images: [internal.example:5000/x] }]`
    agents/fix.yaml:5:33: the server does not grant `acme/web` the image `postgres:18`
      help: remove it, or have the server's `lamp.yaml` say `repositories: [{ name: acme/web, images: [postgres:18] }]`
    agents/fix.yaml:5:23: the server does not grant `acme/web` the secret `DEPLOY_KEY`
      help: remove it, or have the server's `lamp.yaml` say `repositories: [{ name: acme/web, secrets: [DEPLOY_KEY] }]`
    agents/fix.yaml:5:42: a repository's agent gets no value of a secret
      help: remove `expose: env`; only a file beside the server's `lamp.yaml` can say it
    agents/fix.yaml:5:9: a repository's agent does not push past the inspection
      help: remove `push: agent`; only a file beside the server's `lamp.yaml` can say it
    agents/fix.yaml:5:31: a repository's agent reaches its own model, and no other
      help: remove the rule; the agent's own model needs none
    agents/fix.yaml:4:41: `payroll` is another repository than `acme/web`
      help: remove it; whoever hands a task over names more repositories with `--repo`
    agents/fix.yaml:1:27: `codex` is a program of the server
      help: give the agent a name of its own, as `fix-issue`
    ");
}

#[test]
fn without_a_server_a_file_is_right_and_what_it_needs_is_told() {
    let text = format!("{PLAIN}  image: {{ base: node:24 }}\n");
    let needs = check_anywhere("agents/fix.yaml", &text).unwrap();
    assert_eq!(needs.len(), 1, "{needs:?}");
    assert!(check_anywhere("agents/fix.yaml", &format!("{PLAIN}  push: agent\n")).is_err());
}

#[test]
fn files_of_others_are_none_of_ours() {
    for ours in [PLAIN, "lamp : {", "# x\nlamp:\n  oops", "{lamp: {version: 1}}", "\u{feff}lamp: 1"]
    {
        assert!(is_ours(ours), "{ours}");
    }
    for other in ["", "name: x\nmodel: y\n", "lamps: 2", "tools:\n  lamp: 1\n", "[1"] {
        assert!(!is_ours(other), "{other}");
    }
    assert_eq!(name_in(&format!("{PLAIN}oops: 1\n")).unwrap().as_str(), "fix");
    assert_eq!(name_in("lamp: {"), None);
}
