//! GitHub's REST interface: operations by method and path.

use domain::policy::Method;
use proxy::ask::{Language, Said, said::Origin};

use super::{Judgement, OTHER_LANGUAGE, Task, is_own_head};

/// One operation that writes. `{}` stands for a number; the repository is before the path.
struct Operation {
    name: &'static str,
    method: Method,
    path: &'static [&'static str],
    condition: Condition,
}

#[derive(Clone, Copy)]
enum Condition {
    /// Whatever the body says.
    None,
    /// The body opens a pull request from a branch of the task.
    OwnHead,
}

const OPERATIONS: [Operation; 7] = [
    operation("open a pull request", Method::Post, &["pulls"], Condition::OwnHead),
    operation("update a pull request", Method::Patch, &["pulls", "{}"], Condition::None),
    operation(
        "ask for reviews",
        Method::Post,
        &["pulls", "{}", "requested_reviewers"],
        Condition::None,
    ),
    operation(
        "answer a review",
        Method::Post,
        &["pulls", "{}", "comments", "{}", "replies"],
        Condition::None,
    ),
    operation("comment on lines", Method::Post, &["pulls", "{}", "comments"], Condition::None),
    operation("comment", Method::Post, &["issues", "{}", "comments"], Condition::None),
    operation("change a comment", Method::Patch, &["issues", "comments", "{}"], Condition::None),
];

/// What people will try, and why it is not there.
const NEVER: [(&str, &str); 14] = [
    ("merge", "merging is for people"),
    ("merges", "merging is for people"),
    ("reviews", "a task does not review its own work"),
    ("gists", "gists leave the task's repositories"),
    ("releases", "releases are for people"),
    ("dispatches", "workflows are not started from a sandbox"),
    ("rerun", "workflows are not started from a sandbox"),
    ("secrets", "secrets are not changed from a sandbox"),
    ("variables", "variables of workflows are not changed from a sandbox"),
    ("keys", "keys are not added from a sandbox"),
    ("hooks", "hooks are not added from a sandbox"),
    ("collaborators", "rights are not given from a sandbox"),
    ("contents", "files are changed by pushing the task's branch"),
    ("refs", "branches are changed by pushing the task's branch"),
];

const fn operation(
    name: &'static str,
    method: Method,
    path: &'static [&'static str],
    condition: Condition,
) -> Operation {
    Operation { name, method, path, condition }
}

/// Judges a request that is not only reading. `path` is behind the API's own root, as it was judged.
pub fn judge(method: Method, path: &str, body: Option<&Said>, task: &Task) -> Judgement {
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let known = |word: &&str| NEVER.iter().find(|(never, _)| never == word).map(|(_, why)| *why);
    let Some(("repos", [owner, name, rest @ ..])) =
        segments.split_first().map(|(first, rest)| (*first, rest))
    else {
        let why = segments.iter().find_map(known).unwrap_or(OTHERS);
        return Judgement::not(why);
    };
    if !task.works_on(owner, name) {
        return Judgement::not(format!(
            "`{owner}/{name}` is not a repository that this task may write to"
        ));
    }
    let Some(operation) = OPERATIONS.iter().find(|it| it.method == method && it.fits(rest)) else {
        let why = rest.iter().find_map(known).unwrap_or(OTHERS);
        return Judgement::not(why);
    };
    let belongs = Judgement::Belongs { operation: operation.name };
    match (operation.condition, body) {
        (Condition::None, _) => belongs,
        (Condition::OwnHead, None) => Judgement::NeedsBody { language: Language::PullRequest },
        (Condition::OwnHead, Some(Said::PullRequest(from))) => match from {
            Origin::Branch(head) if is_own_head(head, task.of(owner, name)) => belongs,
            Origin::Branch(_) | Origin::Elsewhere | Origin::Nothing => {
                Judgement::not("a pull request is opened from the task's own branch")
            }
            Origin::Unclear(why) => Judgement::not(why.clone()),
        },
        (Condition::OwnHead, Some(Said::Unreadable(why))) => Judgement::not(why.clone()),
        (Condition::OwnHead, Some(Said::Graphql(_) | Said::Model(_))) => {
            Judgement::not(OTHER_LANGUAGE)
        }
    }
}

const OTHERS: &str = "it is not one of the operations of GitHub that a task needs";

impl Operation {
    fn fits(&self, rest: &[&str]) -> bool {
        let same = |(pattern, segment): (&&str, &&str)| match *pattern {
            "{}" => is_number(segment),
            word => word == *segment,
        };
        self.path.len() == rest.len() && self.path.iter().zip(rest).all(same)
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The operations, for the reference: method, path and name.
pub fn reference() -> impl Iterator<Item = (&'static str, String, &'static str)> {
    OPERATIONS.iter().map(|it| {
        let path = it.path.join("/").replace("{}", "NUMBER");
        (it.method.as_str(), format!("/repos/OWNER/NAME/{path}"), it.name)
    })
}
