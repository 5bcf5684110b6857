//! What a sandbox is to be, as files, request and approval say it. Nothing is made here.

use domain::{
    code::{Access, BranchName},
    id::{PersonId, TaskId},
    money::Money,
    people::Role,
    request::{ChannelKind, RepositoryUse, Source},
};

use super::*;
use crate::agents::tests::said;

const MODELS: &str = "models: [{ name: a, provider: anthropic, model: big }]\n";

const FIX: &str = "lamp: { version: 1, name: fix }\nagent: { driver: claude-code }\nphases: { review: { driver: builtin }, verify: { timeout: 20m } }\n\
    sandbox:\n  repositories: [{ name: web }]\n  image: { base: ./rootfs, setup: make deps }\n  variables: [{ name: TOKEN }, { name: LOG_LEVEL, value: info }]\n  \
    compute: { cpu: 8, memory: 2GiB }\n  hooks: { post_start: make up }\n  tier: untrusted\n\
    egress: { implement: [github] }\nchecks: [{ name: tests, run: make test, report: junit.xml }, { name: lint, run: make lint, timeout: 1m }]\n";

fn request(agent: &str) -> domain::request::Request {
    domain::request::Request {
        text: "fix it".to_owned(),
        author: PersonId::from_u128(1),
        role: Role::Admin,
        source: Source { channel: ChannelKind::Api, thread: String::new() },
        repositories: vec![RepositoryUse { name: "web".parse().unwrap(), access: Access::Write }],
        agent: agent.parse().unwrap(),
        definition: None,
        model: None,
        quotes: Vec::new(),
        parent: None,
    }
}

fn sketched<T>(
    said: &ServerFiles,
    agent: &str,
    purpose: Purpose,
    look: impl FnOnce(&Sketch<'_>) -> T,
) -> T {
    let (request, layers) = (request(agent), Layers::of(said).unwrap());
    let task = TaskId::from_u128(1);
    let wanted = Wanted {
        task,
        request: &request,
        purpose,
        conditions: None,
        budget: Money::from_dollars(1),
        branch: None,
        taken_up: 0,
    };
    let member = roster::member(said, &request.agent).unwrap();
    look(&Sketch { wanted: &wanted, said, layers: &layers, member })
}

#[test]
fn a_file_says_what_a_sandbox_is_made_of_within_the_policy() {
    let policy = "version: 1\nlimits: { cpu: 2 }\negress: { implement: { allow: [github, 'model:anthropic'] } }\n";
    let said = said(MODELS, &[("agents/fix.yaml", FIX), ("policy.yaml", policy)]);
    sketched(&said, "fix", Purpose::Implement, |sketch| {
        assert_eq!(sketch.refuse_unknown(), Ok(()));
        let Compute { cpu_millis, memory_mib, disk_mib, .. } = sketch.compute();
        assert_eq!((cpu_millis, memory_mib, disk_mib), (2_000, 2_048, 20_480));
        assert_eq!(sketch.tier(), Tier::Untrusted);
        let Base::Directory(path) = sketch.base() else { panic!("{}", sketch.base()) };
        assert!(path.ends_with("/rootfs") && path.starts_with('/'), "{path}");
        assert_eq!((sketch.setup(), &*sketch.hooks().post_start), (Some("make deps"), "make up"));
        let layers: Vec<String> = sketch.agent_layers().into_iter().map(|it| it.what).collect();
        assert_eq!(
            layers.len(),
            2,
            "the runtime and Claude Code; the built-in agent needs none: {layers:?}"
        );
        assert_eq!(sketch.secrets().unwrap(), ["TOKEN".parse().unwrap()]);
        let variables = BTreeMap::from([("LOG_LEVEL".to_owned(), "info".to_owned())]);
        assert_eq!(sketch.variables(), variables);
        let checks: Vec<(String, Duration)> =
            sketch.checks().into_iter().map(|it| (it.name, it.limit)).collect();
        let expected = [("tests", 20), ("lint", 1)]
            .map(|(name, minutes)| (name.to_owned(), Duration::from_mins(minutes)));
        assert_eq!(checks, expected);
    });
}

#[test]
fn checks_get_the_network_of_the_work_without_models_and_secrets() {
    let said = said(MODELS, &[("agents/fix.yaml", FIX)]);
    let of = |purpose| {
        sketched(&said, "fix", purpose, |sketch| {
            let granted = sketch.network().unwrap();
            let allowed: Vec<String> = granted.allowed.into_iter().collect();
            let secrets = sketch.secrets().unwrap().len();
            (granted.network.phase, allowed.join(", "), secrets)
        })
    };
    let text = str::to_owned;
    assert_eq!(
        of(Purpose::Implement),
        (EgressPhase::Implement, text("github, model:anthropic"), 1)
    );
    assert_eq!(of(Purpose::Verify), (EgressPhase::Implement, text("github"), 0));
    assert_eq!(of(Purpose::Research), (EgressPhase::Research, text("model:anthropic"), 1));
    assert_eq!(of(Purpose::Review), (EgressPhase::Review, text("model:anthropic"), 1));
}

#[test]
fn an_agent_without_a_file_gets_what_the_server_gives() {
    let said = said(MODELS, &[]);
    sketched(&said, "builtin", Purpose::Research, |sketch| {
        assert_eq!((sketch.base(), sketch.setup()), (Base::Host, None));
        assert_eq!((sketch.tier(), sketch.agent_layers().len()), (Tier::Standard, 0));
        assert_eq!(sketch.compute().check(), Ok(()));
        assert!(sketch.checks().is_empty());
    });
}

#[test]
fn what_no_task_can_have_yet_is_refused_by_its_name() {
    let with = |line: &str| {
        let file = format!(
            "lamp: {{ version: 1, name: fix }}\nagent: {{ driver: builtin }}\nsandbox:\n  repositories: [{{ name: web }}]\n  {line}\n"
        );
        let said = said(MODELS, &[("agents/fix.yaml", &file)]);
        sketched(&said, "fix", Purpose::Research, |sketch| sketch.refuse_unknown().unwrap_err())
    };
    let told = [
        with("services: [{ name: postgres, image: 'postgres:17' }]"),
        with("variables: [{ name: TOKEN, expose: env }]"),
    ];
    insta::assert_snapshot!(told.join("\n"), @r"
        `agents/fix.yaml` asks for the service `postgres`, and tasks have no services yet; remove it, or start it with `hooks.post_start`
        `agents/fix.yaml` gives the agent the value of the secret `TOKEN`, and tasks get placeholders only; remove `expose: env`
        ");
}

#[test]
fn a_place_to_push_to_is_read_from_https_addresses_alone() {
    let told = |address: &str| https_place(address).map(|(host, path)| format!("{host} {path}"));
    assert_eq!(
        told("https://***@git.example.com/acme/web.git").as_deref(),
        Some("git.example.com acme/web")
    );
    assert_eq!(told("https://git.example.com/web/").as_deref(), Some("git.example.com web"));
    for other in
        ["/srv/web", "ssh://git@git.example.com/web", "https://127.0.0.1/web", "https://h:8443/web"]
    {
        assert_eq!(told(other), None, "{other}");
    }
}

#[test]
fn the_platform_alone_pushes_unless_a_file_lets_the_agent() {
    let pusher = |said: &ServerFiles, agent: &str| {
        sketched(said, agent, Purpose::Implement, |it| match it.pusher() {
            Pusher::Platform => "platform",
            Pusher::Agent => "agent",
        })
    };
    let server = "models: [{ name: a, provider: anthropic, model: big }]\n";
    let file = |more: &str| {
        format!(
            "lamp: {{ version: 1, name: fix }}\nagent: {{ driver: builtin }}\n\
             sandbox: {{ repositories: [{{ name: web }}]{more} }}\n"
        )
    };
    let with = |more: &str| said(server, &[("agents/fix.yaml", &file(more))]);
    assert_eq!(pusher(&with(""), "builtin"), "platform");
    assert_eq!(pusher(&with(""), "fix"), "platform");
    assert_eq!(pusher(&with(", push: agent"), "fix"), "agent");
}

#[test]
fn an_agent_that_may_push_does_so_to_its_own_branch_alone_and_only_behind_the_gate() {
    let addresses = [
        ("web", "https://***@git.example.com/acme/web.git"),
        ("api", "https://git.example.com/acme/api.git"),
        ("local", "/srv/local"),
    ];
    let branch: BranchName = "agent/t_1-fix".parse().unwrap();
    let may = |names: &[&str], purpose, branch| {
        let used =
            |name: &&str| RepositoryUse { name: name.parse().unwrap(), access: Access::Write };
        let mut request = request("builtin");
        request.repositories = names.iter().map(used).collect();
        let wanted = Wanted {
            task: TaskId::from_u128(1),
            request: &request,
            purpose,
            conditions: None,
            budget: Money::from_dollars(1),
            branch,
            taken_up: 0,
        };
        let address = addresses.iter().find(|(name, _)| names.first() == Some(name));
        pushes(address.map(|(_, address)| *address), &wanted)
    };
    let behind = may(&["web", "api"], Purpose::Implement, Some(&branch));
    let only = Push {
        host: "git.example.com".parse().unwrap(),
        repository: "acme/web".to_owned(),
        branch: "agent/t_1-fix".to_owned(),
    };
    assert_eq!(behind, [only], "not the repository that is only read");
    assert_eq!(may(&["web"], Purpose::Research, None), [], "before the gate");
    assert_eq!(may(&["web"], Purpose::Implement, None), [], "no branch, no right");
    for purpose in [Purpose::Research, Purpose::Verify, Purpose::Review] {
        assert_eq!(may(&["web"], purpose, Some(&branch)), [], "{purpose:?}");
    }
    assert_eq!(may(&["local"], Purpose::Implement, Some(&branch)), [], "it is not reached anyway");
}
