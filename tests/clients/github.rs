//! A small GitHub: enough of its API for `gh` to go to the end of what it is asked to do.
//!
//! It answers only who brings the real token. What is asked of it that it does not know is answered with 404, and stands in the
//! test's failure.

use serde_json::{Value, json};
use tests::internet::{Internet, Reply, Request, text};

/// Where its API is, as `gh` has it built in.
pub(crate) const API: &str = "api.github.com";

pub(crate) const REPOSITORY: &str = "acme/api";
pub(crate) const BRANCH: &str = "agent/fix";

/// Serves it, for who has this token.
pub(crate) fn serve(internet: &Internet, token: &str) {
    let wanted = format!("token {token}");
    internet.site(API, move |request| {
        if request.header("authorization") != Some(&wanted) {
            return answer(401, &json!({ "message": "Bad credentials" }));
        }
        reply(request)
    });
}

fn answer(status: u16, body: &Value) -> Reply {
    text(status, "application/json; charset=utf-8", body.to_string())
}

fn reply(request: &Request) -> Reply {
    if request.path() == "/graphql" {
        let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let query = asked.pointer("/query").and_then(Value::as_str).unwrap_or_default();
        return answer(200, &json!({ "data": graphql(query) }));
    }
    match (request.method.as_str(), request.path()) {
        ("GET", "/user") => answer(200, &json!({ "login": "agent", "id": 7 })),
        ("GET", "/users/acme") => answer(
            200,
            &json!({ "login": "acme", "type": "Organization", "node_id": "O_1", "id": 8 }),
        ),
        ("GET", "/meta") => answer(200, &json!({})),
        ("GET", "/repos/acme/api/actions/secrets/public-key") => {
            let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
            answer(200, &json!({ "key_id": "1", "key": key }))
        }
        ("GET", "/repos/acme/api/actions/workflows/ci.yml") => answer(
            200,
            &json!({ "id": 5, "name": "CI", "path": ".github/workflows/ci.yml", "state": "active" }),
        ),
        // What only a write would do. It must never come to this.
        ("POST" | "PUT" | "PATCH" | "DELETE", _) => answer(201, &json!({ "done": true })),
        _ => answer(404, &json!({ "message": "Not Found" })),
    }
}

/// By the name of the operation, which `gh` always gives.
fn graphql(query: &str) -> Value {
    let is = |name: &str| query.contains(name);
    if is("__type(") {
        // Which fields a server has: every name that `gh` asks about, without fields.
        let names = [
            "Issue",
            "PullRequest",
            "Repository",
            "WorkflowRun",
            "StatusCheckRollupContextConnection",
        ];
        return names.iter().map(|name| ((*name).to_owned(), json!({ "fields": [] }))).collect();
    }
    if is("PullRequestCreate") {
        let made =
            json!({ "id": "PR_1", "url": format!("https://github.com/{REPOSITORY}/pull/1") });
        return json!({ "createPullRequest": { "pullRequest": made } });
    }
    if is("CommentCreate") {
        let url = format!("https://github.com/{REPOSITORY}/pull/1#issuecomment-1");
        return json!({ "addComment": { "commentEdge": { "node": { "url": url } } } });
    }
    if is("PullRequestForBranch") {
        let none = json!({ "nodes": [], "totalCount": 0 });
        return json!({ "repository": { "pullRequests": none, "defaultBranchRef": { "name": "main" } } });
    }
    if is("PullRequestProjectItems") {
        let none = json!({ "nodes": [], "pageInfo": { "hasNextPage": false, "endCursor": "" } });
        return json!({ "repository": { "pullRequest": { "projectItems": none } } });
    }
    if is("PullRequestByNumber") {
        return json!({ "repository": { "pullRequest": pull_request() } });
    }
    if is("viewer") && !is("repository(") {
        return json!({ "viewer": { "login": "agent", "id": "U_7" } });
    }
    json!({ "viewer": { "login": "agent" }, "repository": repository() })
}

fn repository() -> Value {
    json!({
        "id": "R_1", "databaseId": 1, "name": "api", "owner": { "login": "acme", "id": "O_1" },
        "nameWithOwner": REPOSITORY, "viewerPermission": "WRITE", "hasIssuesEnabled": true, "description": "",
        "hasWikiEnabled": false, "defaultBranchRef": { "name": "main" }, "isPrivate": true, "parent": null,
        "mergeCommitAllowed": true, "rebaseMergeAllowed": true, "squashMergeAllowed": true
    })
}

fn pull_request() -> Value {
    let none = json!({ "nodes": [], "totalCount": 0, "pageInfo": { "hasNextPage": false, "endCursor": "" } });
    json!({
        "id": "PR_1", "number": 1, "title": "Fix the thing", "state": "OPEN", "body": "As it should be.",
        "url": format!("https://github.com/{REPOSITORY}/pull/1"), "author": { "login": "agent" },
        "baseRefName": "main", "headRefName": BRANCH, "headRepositoryOwner": { "login": "acme" },
        "headRepository": { "id": "R_1", "name": "api" }, "isDraft": false, "isCrossRepository": false,
        "mergeable": "MERGEABLE", "additions": 1, "deletions": 1, "commits": { "totalCount": 1, "nodes": [] },
        "reviewRequests": none, "reviews": none, "assignees": none, "labels": none, "projectCards": none,
        "projectItems": none, "comments": none, "reactionGroups": [], "statusCheckRollup": { "nodes": [] },
        "createdAt": "2026-01-01T00:00:00Z", "maintainerCanModify": true
    })
}
