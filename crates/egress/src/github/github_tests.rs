//! What `gh` sends, and what someone with worse intentions would.

use domain::policy::Method;
use proptest::prelude::*;
use serde_json::{Value, json};

use proxy::{
    ask::{
        Said,
        said::{ModelBody, Operation, Origin, RootField},
    },
    github as said,
};

use super::{Judgement, Task, TaskBranch, graphql, rest};

fn task() -> Task {
    Task {
        pushes: vec![TaskBranch {
            repository: "acme/api".to_owned(),
            branch: "agent/fix".to_owned(),
        }],
    }
}

fn told(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Belongs { operation } => format!("belongs: {operation}"),
        Judgement::NeedsBody { .. } => "needs its body".to_owned(),
        Judgement::Not { why } => format!("not: {why}"),
    }
}

fn asked(body: &str) -> Judgement {
    judged(Some("application/json"), body.as_bytes(), &task())
}

/// As the proxy reads it and the broker judges it.
fn judged(content_type: Option<&str>, body: &[u8], task: &Task) -> Judgement {
    graphql::judge(content_type, Some(&said::graphql::read(body)), task)
}

fn query(text: &str) -> Judgement {
    asked(&json!({ "query": text }).to_string())
}

#[test]
fn all_that_gh_sends_for_a_pull_request_belongs() {
    let mut lines = Vec::new();
    for line in include_str!("gh_requests.jsonl").lines() {
        let sent: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| sent[key].as_str().unwrap();
        let judgement = judged(Some(text("type")), text("body").as_bytes(), &task());
        lines.push(format!("gh {} `{}`: {}", text("gh"), text("command"), told(&judgement)));
        assert!(matches!(judgement, Judgement::Belongs { .. }), "{line}");
    }
    lines.dedup();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_mutation_is_judged_by_its_own_name_wherever_it_hides() {
    let all = [
        "mutation { addComment(input: {subjectId: \"x\", body: \"y\"}) { clientMutationId } }",
        "mutation { __typename addComment(input: {}) { clientMutationId } }",
        "mutation { mergePullRequest(input: {}) { clientMutationId } }",
        "mutation { addComment: mergePullRequest(input: {}) { clientMutationId } }",
        "mutation { addComment(input: {}) { a } mergePullRequest(input: {}) { a } }",
        "mutation { ...f } fragment f on Mutation { createRepository(input: {}) { a } }",
        "mutation { ... on Mutation { enablePullRequestAutoMerge(input: {}) { a } } }",
        "mutation { ... @include(if: true) { deleteRef(input: {}) { a } } }",
        "mutation { ...f } fragment f on Mutation { ...f }",
        "mutation { ...f } fragment f on Mutation { ...g ...g ...g } fragment g on Mutation { ...f ...f ...f }",
        "mutation { ...missing }",
        "mutation($a: T = {b: $a}) { createPullRequest(input: $a) { a } }",
        "query a { viewer { login } } mutation b { mergePullRequest(input: {}) { a } }",
        "subscription { x }",
        "{ viewer { login } }",
        "{ Issue: __type(name: \"Issue\") { fields(includeDeprecated: true) { name } } }",
        "type Query { a: Int }",
        "fragment f on Query { a }",
        "mutation { addPullRequestReview(input: {event: APPROVE}) { a } }",
    ];
    let lines = all.map(|text| format!("{text}\n    {}", told(&query(text))));
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_pull_request_is_opened_from_the_tasks_branch_only() {
    let opened = |input: &Value| {
        let query = "mutation m($input: CreatePullRequestInput!) { createPullRequest(input: $input) { a } }";
        told(&asked(&json!({ "query": query, "variables": { "input": input } }).to_string()))
    };
    let belongs = "belongs: open a pull request";
    assert_eq!(opened(&json!({ "headRefName": "agent/fix", "repositoryId": "R_1" })), belongs);
    assert_eq!(opened(&json!({ "headRefName": "ACME:agent/fix" })), belongs);
    for input in [
        json!({ "headRefName": "main" }),
        json!({ "headRefName": "evil:agent/fix" }),
        json!({ "headRefName": ["agent/fix"] }),
        json!({ "headRefName": "agent/fix", "headRepositoryId": "R_2" }),
        json!({}),
        json!(null),
    ] {
        assert!(opened(&input).starts_with("not: a pull request is opened from the"), "{input}");
    }
    let written = "mutation($b: String = \"agent/fix\") { createPullRequest(input: {headRefName: $b}) { a } }";
    assert_eq!(told(&query(written)), belongs);
    let other = json!({ "query": written, "variables": { "b": "main" } }).to_string();
    assert!(matches!(asked(&other), Judgement::Not { .. }));
    let undeclared = json!({ "query": "mutation { createPullRequest(input: $input) { a } }",
        "variables": { "input": { "headRefName": "agent/fix" } } });
    assert_eq!(told(&asked(&undeclared.to_string())), "not: `$input` is not declared");
    let nobody = judged(
        Some("application/json"),
        br#"{"query":"mutation{addComment(input:{}){a}}"}"#,
        &Task::default(),
    );
    assert_eq!(told(&nobody), "not: the task may not push anything yet, so it has no pull request");
}

#[test]
fn a_request_that_could_be_read_in_two_ways_does_not_belong() {
    let read = "{ viewer { login } }";
    for body in [
        json!([{ "query": read }]).to_string(),
        json!({ "query": read, "extensions": { "persistedQuery": { "version": 1 } } }).to_string(),
        json!({ "id": "1234" }).to_string(),
        json!({ "query": read, "variables": [] }).to_string(),
        json!({ "query": read, "operationName": "other" }).to_string(),
        json!({ "query": [read] }).to_string(),
        format!(r#"{{"query":"{read}","query":"mutation{{mergePullRequest{{a}}}}"}}"#),
        format!(r#"{{"query":"{read}","qu\u0065ry":"mutation{{mergePullRequest{{a}}}}"}}"#),
        r#"{"query":"{a}","variables":{"a":1,"a":2}}"#.to_owned(),
        r#"{"query":"{a}"} {}"#.to_owned(),
        String::new(),
    ] {
        assert!(matches!(asked(&body), Judgement::Not { .. }), "{body}");
    }
    let body = json!({ "query": read }).to_string();
    for kind in [
        None,
        Some("text/plain"),
        Some("application/graphql"),
        Some("application/x-www-form-urlencoded"),
    ] {
        assert!(matches!(judged(kind, body.as_bytes(), &task()), Judgement::Not { .. }));
    }
    assert!(matches!(
        graphql::judge(Some("application/json"), None, &task()),
        Judgement::NeedsBody { .. }
    ));
}

#[test]
fn rest_operations_are_in_the_table_or_refused() {
    let all = [
        (Method::Post, "/repos/acme/api/pulls"),
        (Method::Patch, "/repos/Acme/API/pulls/7"),
        (Method::Post, "/repos/acme/api/issues/7/comments"),
        (Method::Patch, "/repos/acme/api/issues/comments/9"),
        (Method::Post, "/repos/acme/api/pulls/7/comments"),
        (Method::Post, "/repos/acme/api/pulls/7/comments/9/replies"),
        (Method::Post, "/repos/acme/api/pulls/7/requested_reviewers"),
        (Method::Put, "/repos/acme/api/pulls/7/merge"),
        (Method::Post, "/repos/acme/api/merges"),
        (Method::Post, "/repos/acme/api/pulls/7/reviews"),
        (Method::Post, "/gists"),
        (Method::Post, "/user/repos"),
        (Method::Post, "/user/keys"),
        (Method::Post, "/orgs/acme/repos"),
        (Method::Post, "/repos/acme/api/forks"),
        (Method::Post, "/repos/acme/api/releases"),
        (Method::Post, "/repos/acme/api/releases/1/assets"),
        (Method::Post, "/repos/acme/api/dispatches"),
        (Method::Post, "/repos/acme/api/actions/workflows/ci.yml/dispatches"),
        (Method::Post, "/repos/acme/api/actions/runs/1/rerun"),
        (Method::Put, "/repos/acme/api/actions/secrets/X"),
        (Method::Post, "/repos/acme/api/keys"),
        (Method::Post, "/repos/acme/api/hooks"),
        (Method::Put, "/repos/acme/api/collaborators/evil"),
        (Method::Put, "/repos/acme/api/contents/x"),
        (Method::Post, "/repos/acme/api/git/refs"),
        (Method::Delete, "/repos/acme/api"),
        (Method::Patch, "/repos/acme/api"),
        (Method::Post, "/repos/acme/other/issues/7/comments"),
        (Method::Post, "/repos/evil/api/pulls"),
        (Method::Post, "/repos/acme/api/issues"),
        (Method::Post, "/repos/acme/api/issues/x/comments"),
        (Method::Post, "/repos/acme/api/issues/7/comments/"),
        (Method::Delete, "/repos/acme/api/issues/comments/9"),
        (Method::Post, "/repositories/1/issues/7/comments"),
    ];
    let line = |(method, path): (Method, &str)| {
        let judgement = rest::judge(method, path, None, &task());
        format!("{} {path}: {}", method.as_str(), told(&judgement))
    };
    insta::assert_snapshot!(all.map(line).join("\n"));
    let opened = |body: &str| {
        let said = said::pull_request::read(body.as_bytes());
        rest::judge(Method::Post, "/repos/acme/api/pulls", Some(&said), &task())
    };
    let belongs = Judgement::Belongs { operation: "open a pull request" };
    assert_eq!(opened(r#"{"head":"agent/fix","base":"main","title":"x"}"#), belongs);
    assert_eq!(opened(r#"{"head":"acme:agent/fix","base":"main"}"#), belongs);
    for body in [
        r#"{"head":"main"}"#,
        r#"{"head":"evil:agent/fix"}"#,
        r#"{"head":"agent/fix","head":"main"}"#,
        r#"{"head":"agent/fix","head_repo":"other"}"#,
        r#"{"head":"agent/fix","issue":3}"#,
        "[]",
        "",
    ] {
        assert!(matches!(opened(body), Judgement::Not { .. }), "{body}");
    }
}

/// What a proxy could say that was taken over: it may lie about the body, and gains no other operation by it.
#[test]
fn what_is_said_of_a_body_is_believed_only_in_the_language_that_was_asked_for() {
    let branch = || Origin::Branch("agent/fix".to_owned());
    let field = |name: &str| RootField { name: name.to_owned(), from: branch() };
    let others = [Said::PullRequest(branch()), Said::Model(ModelBody::default())];
    for said in &others {
        let judgement = graphql::judge(Some("application/json"), Some(said), &task());
        assert!(matches!(judgement, Judgement::Not { .. }), "{said:?}");
    }
    let lies = [Said::Graphql(Operation::Query), Said::Model(ModelBody::default())];
    for said in &lies {
        let judgement = rest::judge(Method::Post, "/repos/acme/api/pulls", Some(said), &task());
        assert!(matches!(judgement, Judgement::Not { .. }), "{said:?}");
        let merging =
            rest::judge(Method::Put, "/repos/acme/api/pulls/7/merge", Some(said), &task());
        assert!(matches!(merging, Judgement::Not { .. }), "{said:?}");
    }
    for fields in [vec![], vec![field("mergePullRequest")], vec![field("addComment"), field("")]] {
        let said = Said::Graphql(Operation::Mutation(fields));
        let judgement = graphql::judge(Some("application/json"), Some(&said), &task());
        assert!(matches!(judgement, Judgement::Not { .. }), "{said:?}");
    }
}

proptest! {
    #[test]
    fn a_mutation_that_is_not_in_the_table_never_belongs(
        name in "[a-zA-Z]{1,20}",
        alias in "[a-zA-Z]{1,20}",
        comma in "[ ,\n]{1,3}",
    ) {
        prop_assume!(graphql::reference().all(|(field, _)| field != name));
        let text = format!("mutation{comma}{{{alias}:{name}(input:{{}}){{a}}{comma}addComment(input:{{}}){{a}}}}");
        let judgement = query(&text);
        prop_assert!(matches!(judgement, Judgement::Not { .. }), "{}", text);
    }
}
