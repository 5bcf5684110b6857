//! Keys that are read and checked, and that nothing obeys yet. They are told, so that nobody relies on them.
//!
//! A key leaves this table with the change that makes it work.

use domain::policy::{BudgetScope, NewPackages};

use crate::{
    agent::{Exposure, Visibility},
    file::{FileKind, kind_of, root},
    problem::{Problem, Problems},
    server::ListenAddress,
    yaml::Node,
};

/// One key, and what holds instead.
struct Unheard {
    /// From the top; `[]` is every item of a list.
    path: &'static [&'static str],
    /// Which values of it nothing obeys.
    is_one: fn(&Node) -> bool,
    what: &'static str,
    help: &'static str,
}

const TEAM_BUDGETS: Unheard = Unheard {
    path: &["budgets", "[]", "scope"],
    is_one: |node| node.text() == Some(BudgetScope::Team.as_str()),
    what: "a server has one person and no teams, so nobody's spending counts against it",
    help: "write `person`, `repository` or `organisation`",
};

const SERVER: [Unheard; 5] = [
    TEAM_BUDGETS,
    Unheard {
        path: &["listen", "http"],
        is_one: |node| {
            let address = node.text().and_then(|text| text.parse::<ListenAddress>().ok());
            address.is_some_and(|address| !address.get().ip().is_loopback())
        },
        what: "`lamp up` serves the loopback only, and refuses to start with this address",
        help: "there is no TLS yet: write `127.0.0.1:7180`, and reach it over SSH from elsewhere",
    },
    Unheard {
        path: &["listen", "ssh"],
        is_one: |_any| true,
        what: "there is no SSH door yet",
        help: "remove it; `lamp shell TASK` opens a shell",
    },
    Unheard {
        path: &["retention", "transcripts"],
        is_one: |_any| true,
        what: "transcripts are kept for good",
        help: "remove it",
    },
    Unheard {
        path: &["retention", "logs"],
        is_one: |_any| true,
        what: "what programs printed is kept for good",
        help: "remove it",
    },
];

const AGENT: [Unheard; 6] = [
    Unheard {
        path: &["triggers", "[]"],
        is_one: |_any| true,
        what: "nothing listens to triggers yet",
        help: "start tasks with `lamp run`, or by the API",
    },
    Unheard {
        path: &["sandbox", "repositories", "[]", "branch"],
        is_one: |_any| true,
        what: "tasks begin from the default branch, so tasks of this agent in this repository are refused",
        help: "remove it; in the request, say what to look at on another branch",
    },
    Unheard {
        path: &["sandbox", "services", "[]"],
        is_one: |_any| true,
        what: "tasks have no services yet, so tasks of this agent are refused",
        help: "remove it, or start the program with `hooks.post_start`",
    },
    Unheard {
        path: &["sandbox", "variables", "[]", "expose"],
        is_one: |node| node.text() == Some(Exposure::Env.as_str()),
        what: "tasks get placeholders of secrets only, so tasks of this agent are refused",
        help: "remove it; the gateway swaps the placeholder for the value",
    },
    Unheard {
        path: &["autonomy"],
        is_one: |node| node.text() != Some("1"),
        what: "a person reviews and merges, whatever is written here",
        help: "write `1`, or remove it",
    },
    Unheard {
        path: &["visibility"],
        is_one: |node| node.text() != Some(Visibility::Private.as_str()),
        what: "a server has one person, who sees everything",
        help: "remove it",
    },
];

const POLICY: [Unheard; 3] = [
    TEAM_BUDGETS,
    Unheard {
        path: &["registries", "new_packages"],
        is_one: |node| node.text() != Some(NewPackages::Allowed.as_str()),
        what: "new packages are neither refused nor held for approval yet",
        help: "close the registry for `implement`, and install packages in `setup`",
    },
    Unheard {
        path: &["trusted_agents", "[]"],
        is_one: |_any| true,
        what: "no agent can prove who it is yet, so none gets the tier `verified`",
        help: "remove it",
    },
];

/// The keys of a right file that nothing obeys, in the order of its lines. Nothing of a wrong one.
pub fn unheard(path_name: &str, text: &str) -> Vec<Problem> {
    let mut problems = Problems::in_file(path_name);
    let read = root(text, FileKind::by_path(path_name), &mut problems);
    let Some(root) = read.filter(|_| problems.is_empty()) else { return Vec::new() };
    let rows: &[Unheard] = match kind_of(path_name, &root) {
        Some(FileKind::Server) => &SERVER,
        Some(FileKind::Agent) => &AGENT,
        Some(FileKind::Policy) => &POLICY,
        None => &[],
    };
    for row in rows {
        for node in found(&root, row.path).into_iter().filter(|node| (row.is_one)(node)) {
            let key = row.path.join(".").replace(".[]", "[]");
            let what = format!("`{key}` is not obeyed yet: {}", row.what);
            problems.report(node.place, what, row.help);
        }
    }
    problems.into_list()
}

pub(crate) fn found<'n>(node: &'n Node, path: &[&str]) -> Vec<&'n Node> {
    match path {
        [] => vec![node],
        ["[]", rest @ ..] => node.items().iter().flat_map(|item| found(item, rest)).collect(),
        [key, rest @ ..] => node.get(key).map_or_else(Vec::new, |node| found(node, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(path: &str, text: &str) -> String {
        crate::check(path, text).unwrap();
        let told: Vec<String> = unheard(path, text).iter().map(ToString::to_string).collect();
        told.join("\n")
    }

    #[test]
    fn keys_that_nothing_obeys_are_told_with_their_place() {
        let all = [
            told(
                "lamp.yaml",
                "version: 1\nlisten: { http: 0.0.0.0:80, ssh: 127.0.0.1:2222 }\n\
                 retention: { logs: 3d, images: 3d }\n",
            ),
            told(
                "agents/a.yaml",
                "lamp: { version: 1, name: a }\nagent: { driver: codex }\nautonomy: 2\n\
                 sandbox: { repositories: [{ name: web }, { name: api, branch: next }] }\n\
                 triggers: [{ on: slack.command }]\n",
            ),
            told(
                "policy.yaml",
                "version: 1\nregistries: { new_packages: deny }\n\
                 budgets: [{ scope: team, period: day, limit: $5 }, { scope: person, period: day, limit: $5 }]\n",
            ),
        ];
        insta::assert_snapshot!(all.join("\n"), @r"
        lamp.yaml:2:17: `listen.http` is not obeyed yet: `lamp up` serves the loopback only, and refuses to start with this address
          help: there is no TLS yet: write `127.0.0.1:7180`, and reach it over SSH from elsewhere
        lamp.yaml:2:34: `listen.ssh` is not obeyed yet: there is no SSH door yet
          help: remove it; `lamp shell TASK` opens a shell
        lamp.yaml:3:20: `retention.logs` is not obeyed yet: what programs printed is kept for good
          help: remove it
        agents/a.yaml:3:11: `autonomy` is not obeyed yet: a person reviews and merges, whatever is written here
          help: write `1`, or remove it
        agents/a.yaml:4:63: `sandbox.repositories[].branch` is not obeyed yet: tasks begin from the default branch, so tasks of this agent in this repository are refused
          help: remove it; in the request, say what to look at on another branch
        agents/a.yaml:5:12: `triggers[]` is not obeyed yet: nothing listens to triggers yet
          help: start tasks with `lamp run`, or by the API
        policy.yaml:2:29: `registries.new_packages` is not obeyed yet: new packages are neither refused nor held for approval yet
          help: close the registry for `implement`, and install packages in `setup`
        policy.yaml:3:20: `budgets[].scope` is not obeyed yet: a server has one person and no teams, so nobody's spending counts against it
          help: write `person`, `repository` or `organisation`
        ");
    }

    #[test]
    fn a_file_whose_keys_all_hold_has_nothing_to_tell() {
        let plain = "lamp: { version: 1, name: a }\nagent: { driver: codex }\n\
            sandbox: { repositories: [{ name: web }] }\nautonomy: 1\nplan: { timeout: 3d }\n";
        assert_eq!(told("agents/a.yaml", plain), "");
        assert_eq!(told("lamp.yaml", "version: 1\nlisten: { http: 127.0.0.1:80 }\n"), "");
    }
}
