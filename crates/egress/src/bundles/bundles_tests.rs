//! Decision tables: which request belongs to which bundle.

use std::fmt::Write as _;

use contracts::{egress::Push, sandbox::Owner};
use domain::policy::ModelProvider;

use super::{model::ModelRoute, *};

fn known() -> Arc<Known> {
    let route = |name: &str, provider, upstream: Option<&str>| ModelRoute {
        name: name.to_owned(),
        provider,
        secret: Some("KEY".parse().unwrap()),
        upstream: upstream.map(|url| model::Upstream {
            place: url.parse().unwrap(),
            addresses: Vec::new(),
            authority: None,
        }),
        tools: model::ProviderTools::Refused,
    };
    let models = Models::new(vec![
        route("anthropic", ModelProvider::Anthropic, None),
        route("openai", ModelProvider::Openai, None),
        route("gemini", ModelProvider::Gemini, None),
        route("local", ModelProvider::OpenaiCompatible, Some("http://models.example.com:8000/v1")),
    ])
    .unwrap();
    let githubs = vec![
        GithubHosts::public().unwrap(),
        GithubHosts::enterprise(&"ghe.example.com".parse().unwrap()),
    ];
    let aws = BTreeSet::from(["sts.eu-central-1.amazonaws.com".parse().unwrap()]);
    Arc::new(Known { models, githubs, clouds: BTreeMap::from([(CloudProvider::Aws, aws)]) })
}

fn table() -> Table {
    let mut network = Network::closed(Owner::Person("ada".to_owned()));
    network.internal.insert(
        "cache".to_owned(),
        Internal {
            host: "cache.corp.example.com".parse().unwrap(),
            ports: vec![443, 8081],
            addresses: vec!["10.0.0.5".parse().unwrap()],
            authority: None,
        },
    );
    network.pushes.push(Push {
        host: "github.com".parse().unwrap(),
        repository: "acme/shop".to_owned(),
        branch: "lamp/x".to_owned(),
    });
    let place = |text: &str| text.parse().unwrap();
    let registries = RegistryHosts::new([
        (Ecosystem::Npm, BTreeSet::from([place("https://npm.example.com/repo")])),
        (Ecosystem::Debian, BTreeSet::from([place("http://apt.example.com/debian")])),
    ]);
    let mut named: BTreeSet<Bundle> = Bundle::well_known().into_iter().collect();
    for text in ["git:git.example.com/web/shop.git", "git:github.com/Acme/Other", "internal:cache"]
    {
        named.insert(text.parse().unwrap());
    }
    Table::new(known(), Arc::new(registries), &network, &named)
}

fn told(table: &Table, line: &str) -> String {
    let (method, url) = line.split_once(' ').unwrap();
    let method = Method::ALL.into_iter().find(|it| it.as_str() == method).unwrap();
    let (url, query) = match url.split_once('?') {
        Some((url, query)) => (url, Some(query)),
        None => (url, None),
    };
    let place: endpoint::Endpoint = url.parse().unwrap();
    let path = url.splitn(4, '/').nth(3).map_or("/".to_owned(), |rest| format!("/{rest}"));
    let asked = Asked {
        scheme: place.scheme(),
        host: place.host(),
        port: place.port(),
        method,
        path: &path.parse().unwrap(),
        query,
        content_type: Some("application/json"),
        body: None,
    };
    let it = table.read(&asked);
    let bundles: Vec<String> = it.bundles.iter().map(ToString::to_string).collect();
    let mut said = if bundles.is_empty() { "-".to_owned() } else { bundles.join(" ") };
    if let Some(call) = &it.model {
        let _ = write!(
            said,
            " → {}{} ({:?})",
            call.place.whole(),
            call.target.trim_start_matches('/'),
            call.operation.costs
        );
    }
    if let Some(with) = &it.with_body {
        let _ = write!(said, " [{} if the body says so]", with.bundle);
    }
    if it.bundles.is_empty()
        && let Some(why) = &it.why_not
    {
        let _ = write!(said, " ({why})");
    }
    // What belongs somewhere must be connectable there.
    let touching = table.touching(place.host(), Some(place.port()));
    for bundle in it.bundles.iter().filter(|it| !matches!(it, Bundle::Git { .. })) {
        assert!(touching.contains(bundle), "{line}: {bundle} does not touch its own host");
    }
    format!("{line}: {said}")
}

#[test]
fn github_is_for_reading_and_for_git() {
    let table = table();
    let all = [
        "GET https://github.com/acme/shop",
        "GET https://api.github.com/repos/acme/shop/pulls",
        "GET https://raw.githubusercontent.com/acme/shop/main/x",
        "GET https://codeload.github.com/acme/shop/tar.gz/v1",
        "POST https://api.github.com/gists",
        "POST https://api.github.com/graphql",
        "DELETE https://api.github.com/repos/acme/shop",
        "POST https://uploads.github.com/repos/acme/shop/releases/1/assets",
        "POST https://gist.github.com/",
        "GET http://github.com/acme/shop",
        "GET https://github.com/acme/shop.git/info/refs?service=git-upload-pack",
        "POST https://github.com/acme/shop.git/git-upload-pack",
        "POST https://github.com/acme/shop.git/git-receive-pack",
        "POST https://github.com/acme/other/git-upload-pack",
        "POST https://api.github.com/acme/shop.git/git-upload-pack",
        "GET https://ghe.example.com/api/v3/user",
        "POST https://ghe.example.com/api/graphql",
        "POST https://ghe.example.com/a/b.git/git-upload-pack",
    ];
    insta::assert_snapshot!(all.map(|line| told(&table, line)).join("\n"), @r"
    GET https://github.com/acme/shop: github
    GET https://api.github.com/repos/acme/shop/pulls: github
    GET https://raw.githubusercontent.com/acme/shop/main/x: github
    GET https://codeload.github.com/acme/shop/tar.gz/v1: github
    POST https://api.github.com/gists: - (gists leave the task's repositories)
    POST https://api.github.com/graphql: - [github if the body says so]
    DELETE https://api.github.com/repos/acme/shop: - (it is not one of the operations of GitHub that a task needs)
    POST https://uploads.github.com/repos/acme/shop/releases/1/assets: -
    POST https://gist.github.com/: -
    GET http://github.com/acme/shop: - (of GitHub, only reading, git and some operations of the API are carried)
    GET https://github.com/acme/shop.git/info/refs?service=git-upload-pack: github
    POST https://github.com/acme/shop.git/git-upload-pack: github
    POST https://github.com/acme/shop.git/git-receive-pack: github
    POST https://github.com/acme/other/git-upload-pack: github git:github.com/Acme/Other
    POST https://api.github.com/acme/shop.git/git-upload-pack: -
    GET https://ghe.example.com/api/v3/user: github
    POST https://ghe.example.com/api/graphql: - [github if the body says so]
    POST https://ghe.example.com/a/b.git/git-upload-pack: github
    ");
}

#[test]
fn a_repository_is_git_and_nothing_else() {
    let table = table();
    let all = [
        "GET https://git.example.com/web/shop.git/info/refs?service=git-upload-pack",
        "GET https://git.example.com/web/shop/info/refs?service=git-upload-pack",
        "POST https://git.example.com/web/shop/git-receive-pack",
        "GET https://git.example.com/Web/Shop/info/refs?service=git-upload-pack",
        "GET https://git.example.com/web/shop",
        "GET https://git.example.com/web/other/info/refs?service=git-upload-pack",
        "GET http://git.example.com/web/shop/info/refs?service=git-upload-pack",
    ];
    insta::assert_snapshot!(all.map(|line| told(&table, line)).join("\n"), @r"
    GET https://git.example.com/web/shop.git/info/refs?service=git-upload-pack: git:git.example.com/web/shop.git
    GET https://git.example.com/web/shop/info/refs?service=git-upload-pack: git:git.example.com/web/shop.git
    POST https://git.example.com/web/shop/git-receive-pack: git:git.example.com/web/shop.git
    GET https://git.example.com/Web/Shop/info/refs?service=git-upload-pack: -
    GET https://git.example.com/web/shop: -
    GET https://git.example.com/web/other/info/refs?service=git-upload-pack: -
    GET http://git.example.com/web/shop/info/refs?service=git-upload-pack: -
    ");
}

#[test]
fn registries_clouds_and_internal_hosts_end_where_they_end() {
    let table = table();
    let all = [
        "GET https://npm.example.com/repo/@acme%2fui",
        "HEAD https://npm.example.com/repo/x",
        "PUT https://npm.example.com/repo/x",
        "POST https://npm.example.com/repo/-/npm/v1/security/advisories/bulk",
        "GET https://npm.example.com/other/x",
        "GET https://npm.example.com:8443/repo/x",
        "GET http://apt.example.com/debian/dists/stable/InRelease",
        "GET https://apt.example.com/debian/x",
        "POST https://sts.eu-central-1.amazonaws.com/",
        "POST https://sts.us-east-1.amazonaws.com/",
        "PUT https://cache.corp.example.com:8081/x",
        "GET https://cache.corp.example.com:9999/x",
    ];
    insta::assert_snapshot!(all.map(|line| told(&table, line)).join("\n"), @r"
    GET https://npm.example.com/repo/@acme%2fui: registry:npm
    HEAD https://npm.example.com/repo/x: registry:npm
    PUT https://npm.example.com/repo/x: - (package registries are for reading: nothing is published from a sandbox)
    POST https://npm.example.com/repo/-/npm/v1/security/advisories/bulk: - (package registries are for reading: nothing is published from a sandbox)
    GET https://npm.example.com/other/x: -
    GET https://npm.example.com:8443/repo/x: -
    GET http://apt.example.com/debian/dists/stable/InRelease: registry:debian
    GET https://apt.example.com/debian/x: -
    POST https://sts.eu-central-1.amazonaws.com/: cloud:aws
    POST https://sts.us-east-1.amazonaws.com/: -
    PUT https://cache.corp.example.com:8081/x: internal:cache
    GET https://cache.corp.example.com:9999/x: -
    ");
    let idle: Vec<String> = table.idle().iter().map(|(it, why)| format!("{it}: {why}")).collect();
    insta::assert_snapshot!(idle.join("\n"), @r"
    registry:pypi: no registry of pypi was found in the image; list its hosts under `registries:` in `lamp.yaml`
    registry:crates: no registry of crates was found in the image; list its hosts under `registries:` in `lamp.yaml`
    registry:go: no registry of go was found in the image; list its hosts under `registries:` in `lamp.yaml`
    registry:maven: no registry of maven was found in the image; list its hosts under `registries:` in `lamp.yaml`
    cloud:gcp: `gcp` is off; list the hosts that are meant under `clouds:` in `lamp.yaml`
    cloud:azure: `azure` is off; list the hosts that are meant under `clouds:` in `lamp.yaml`
    ");
}

#[test]
fn a_model_provider_is_its_operations() {
    let table = table();
    let all = [
        "POST https://api.anthropic.com/v1/messages?beta=true",
        "POST https://api.anthropic.com/v1/messages/count_tokens",
        "GET https://api.anthropic.com/v1/models/claude-x",
        "POST https://api.anthropic.com/v1/files",
        "GET https://api.anthropic.com/v1/organizations/users",
        "POST http://api.anthropic.com/v1/messages",
        "POST https://api.anthropic.com:8443/v1/messages",
        "POST http://model.lamp.internal/anthropic/v1/messages",
        "POST http://model.lamp.internal/anthropic/v1/files",
        "POST https://api.openai.com/v1/responses",
        "POST https://api.openai.com/v1/files",
        "POST https://api.openai.com/v1/uploads",
        "POST https://api.openai.com/responses",
        "POST http://model.lamp.internal/openai/v1/chat/completions",
        "POST http://model.lamp.internal/local/v1/chat/completions",
        "POST http://models.example.com:8000/v1/chat/completions",
        "POST http://models.example.com:8000/admin",
        "POST http://model.lamp.internal/nobody/v1/chat/completions",
        "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse&key=AIza",
        "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-x%3AgenerateContent?%6Bey=AIza&KEY=x",
        "POST https://generativelanguage.googleapis.com/v1beta/models/a/b:generateContent",
        "POST https://generativelanguage.googleapis.com/upload/v1beta/files",
    ];
    insta::assert_snapshot!(all.map(|line| told(&table, line)).join("\n"), @r"
    POST https://api.anthropic.com/v1/messages?beta=true: model:anthropic → https://api.anthropic.com/v1/messages?beta=true (Some(AnthropicMessages))
    POST https://api.anthropic.com/v1/messages/count_tokens: model:anthropic → https://api.anthropic.com/v1/messages/count_tokens (None)
    GET https://api.anthropic.com/v1/models/claude-x: model:anthropic → https://api.anthropic.com/v1/models/claude-x (None)
    POST https://api.anthropic.com/v1/files: - (`POST /v1/files` is not an operation that is carried to a model provider)
    GET https://api.anthropic.com/v1/organizations/users: - (`GET /v1/organizations/users` is not an operation that is carried to a model provider)
    POST http://api.anthropic.com/v1/messages: -
    POST https://api.anthropic.com:8443/v1/messages: -
    POST http://model.lamp.internal/anthropic/v1/messages: model:anthropic → https://api.anthropic.com/v1/messages (Some(AnthropicMessages))
    POST http://model.lamp.internal/anthropic/v1/files: - (`POST /anthropic/v1/files` is not an operation that is carried to a model provider)
    POST https://api.openai.com/v1/responses: model:openai → https://api.openai.com/v1/responses (Some(OpenaiResponses))
    POST https://api.openai.com/v1/files: - (`POST /v1/files` is not an operation that is carried to a model provider)
    POST https://api.openai.com/v1/uploads: - (`POST /v1/uploads` is not an operation that is carried to a model provider)
    POST https://api.openai.com/responses: - (`POST /responses` is not an operation that is carried to a model provider)
    POST http://model.lamp.internal/openai/v1/chat/completions: model:openai → https://api.openai.com/v1/chat/completions (Some(OpenaiChat))
    POST http://model.lamp.internal/local/v1/chat/completions: model:openai-compatible → http://models.example.com:8000/v1/chat/completions (Some(OpenaiChat))
    POST http://models.example.com:8000/v1/chat/completions: model:openai-compatible → http://models.example.com:8000/v1/chat/completions (Some(OpenaiChat))
    POST http://models.example.com:8000/admin: - (`POST /admin` is not an operation that is carried to a model provider)
    POST http://model.lamp.internal/nobody/v1/chat/completions: - (no model provider is called `nobody`; add it under `models:` in `lamp.yaml`)
    POST https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse&key=AIza: model:gemini → https://generativelanguage.googleapis.com/v1beta/models/gemini-x:streamGenerateContent?alt=sse (Some(Gemini))
    POST https://generativelanguage.googleapis.com/v1beta/models/gemini-x%3AgenerateContent?%6Bey=AIza&KEY=x: model:gemini → https://generativelanguage.googleapis.com/v1beta/models/gemini-x:generateContent (Some(Gemini))
    POST https://generativelanguage.googleapis.com/v1beta/models/a/b:generateContent: - (`POST /v1beta/models/a/b:generateContent` is not an operation that is carried to a model provider)
    POST https://generativelanguage.googleapis.com/upload/v1beta/files: - (`POST /upload/v1beta/files` is not an operation that is carried to a model provider)
    ");
}
