//! What a project needs is installed without a file of ours, once, and its checks run (IM3). What cannot be installed is told, and ends nothing.

use unsupported::part;
use wire::task::checks::Conclusion;

use crate::{
    actor,
    house::House,
    play::{Play, wish},
    repository::{MAKEFILE, Repository},
};

const MANIFEST: &str =
    r#"{"name":"sum","version":"1.0.0","private":true,"dependencies":{"helper":"file:helper"}}"#;
const LOCKFILE: &str = r#"{"name":"sum","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"sum","version":"1.0.0","dependencies":{"helper":"file:helper"}},"helper":{"version":"1.0.0"},"node_modules/helper":{"resolved":"helper","link":true}}}"#;
const HELPER: &str = r#"{"name":"helper","version":"1.0.0","main":"index.js"}"#;

/// What only a project that was set up can do, before its tests.
fn makefile(first: &str) -> String {
    MAKEFILE.replace("test:\n", &format!("test:\n\t{first}\n"))
}

fn has_npm() -> bool {
    let found = std::process::Command::new("npm").arg("--version").output();
    let found = found.is_ok_and(|said| said.status.success());
    if !found {
        part("projects of npm", "this machine has no npm");
    }
    found
}

/// What stands behind `Set up: image`.
fn images(transcript: &str) -> Vec<String> {
    let behind = transcript.split("Set up: image ").skip(1);
    behind.map(|rest| rest.chars().take(12).collect()).collect()
}

pub(crate) async fn a_project_is_set_up_as_its_own_files_say_and_the_next_task_finds_its_image(
    house: &House,
) {
    if !has_npm() {
        return;
    }
    let make = makefile("node -e 'require(\"helper\")'");
    let files = [
        ("package.json", MANIFEST),
        ("package-lock.json", LOCKFILE),
        ("helper/package.json", HELPER),
        ("helper/index.js", "module.exports = 1;\n"),
        (".gitignore", "node_modules\n"),
        ("Makefile", make.as_str()),
    ];
    let repository = Repository::make_with(&house.repositories(), "installed", &files);
    let mut play = Play::begin(house, repository.clone(), "Mend the sum.").await;
    play.approve().await;
    let pull = play.land().await;
    assert!(pull.body.contains("**fixed**"), "{}", pull.body);
    let checks = house.client.task_checks(&play.id).await.unwrap();
    assert_eq!((checks.conclusion, checks.unready), (Conclusion::Passes, None));
    let told = play.transcript().await;
    let says = "Set up by package.json, package-lock.json: npm ci";
    assert!(told.contains(says), "{told}");
    let first = images(&told);
    assert!(!first.is_empty(), "{told}");
    let mut again =
        Play::begin(house, repository, "Mend the sum again.\n#implement\necho '# a' >> sum.py\n")
            .await;
    again.plan().await;
    let second = images(&again.transcript().await);
    assert_eq!(second.first(), first.first(), "one image for both");
    again.cancel().await;
}

pub(crate) async fn a_registry_that_the_policy_does_not_allow_is_asked_for_once_with_the_line_to_write(
    house: &House,
) {
    let files = [("requirements.txt", "six\n")];
    let repository = Repository::make_with(&house.repositories(), "asking", &files);
    let mut play = Play::begin(house, repository, "Mend the sum.").await;
    let failure = play.failure().await;
    assert_eq!(failure.kind, "egress_blocked", "{failure:#?}");
    let line = "policy.yaml has to say `egress: { setup: { allow: ['registry:pypi'] } }`";
    assert!(failure.message.contains(line), "{failure:#?}");
    // Whoever goes on without allowing it has decided.
    house.client.resume_task(&play.id).await.unwrap();
    play.approve().await;
    let pull = play.land().await;
    assert!(pull.body.contains("was not installed"), "{}", pull.body);
    let checks = house.client.task_checks(&play.id).await.unwrap();
    let unready = checks.unready.unwrap_or_default();
    assert!(unready.contains("`registry:pypi`"), "{unready}");
}

pub(crate) async fn a_setup_that_fails_is_told_by_its_first_error_and_the_task_goes_on(
    house: &House,
) {
    if !has_npm() {
        return;
    }
    let manifest = MANIFEST.replace(
        "\"private\"",
        r#""scripts":{"preinstall":"echo 'error: there is no compiler' && exit 1"},"private""#,
    );
    let files = [
        ("package.json", manifest.as_str()),
        ("package-lock.json", LOCKFILE),
        ("helper/package.json", HELPER),
    ];
    let repository = Repository::make_with(&house.repositories(), "failing", &files);
    let mut play = Play::begin(house, repository, "Mend the sum.").await;
    play.approve().await;
    play.land().await;
    let checks = house.client.task_checks(&play.id).await.unwrap();
    let unready = checks.unready.unwrap_or_default();
    assert!(unready.contains("error: there is no compiler"), "{unready}");
    assert!(unready.contains(&format!("`lamp log {}`", play.id)), "{unready}");
    let told = play.transcript().await;
    assert!(told.contains("there is no compiler"), "{told}");
}

pub(crate) async fn a_declared_setup_has_the_files_variables_and_its_programs_are_found(
    house: &House,
) {
    let setup = r#"test "$COLOUR" = red && mkdir -p ~/.local/bin && printf '#!/bin/sh\nexec make test\n' > ~/.local/bin/sum-check && chmod +x ~/.local/bin/sum-check"#;
    let more = format!(
        "sandbox:\n  repositories: [{{ name: any }}]\n  variables: [{{ name: COLOUR, value: red }}]\n  image:\n    setup: |\n      {setup}\nchecks: [{{ name: tests, run: sum-check }}]\n"
    );
    house.rewrite("agents/coloured.yaml", &actor::file("coloured", &more)).await;
    let repository = Repository::make(&house.repositories(), "coloured");
    let mut play = Play::begin_as(house, repository, &wish("coloured", "Mend the sum.")).await;
    play.approve().await;
    let pull = play.land().await;
    assert!(pull.body.contains("**fixed**"), "{}", pull.body);
}
