//! Actions of others that only run a tool: `uses:` as the command that it stands for.

use super::{super::yaml::Node, matrix::Leg};

/// Inputs by which an action or another workflow is told what to run.
const COMMANDS: &[&str] = &["command", "run", "script", "cmd", "test-command"];

/// The command of a step or job that uses something, as far as it is known.
pub(super) fn command(step: &Node, leg: &Leg) -> Option<(String, usize)> {
    let uses = step.get("uses")?;
    let name = uses.text()?.split('@').next().unwrap_or_default();
    let input = |key: &str| step.get("with").and_then(|with| with.get(key));
    let said = |key: &str| input(key).and_then(Node::text).map(|text| leg.filled(text));
    let command = match name {
        "actions-rs/cargo" => {
            let arguments = said("args").unwrap_or_default();
            format!("cargo {} {arguments}", said("command")?)
        }
        "golangci/golangci-lint-action" => "golangci-lint run".to_owned(),
        "pre-commit/action" | "j178/prek-action" => "pre-commit run --all-files".to_owned(),
        "psf/black" => "black --check .".to_owned(),
        "astral-sh/ruff-action" | "chartboost/ruff-action" => {
            format!("ruff {}", said("args").unwrap_or_else(|| "check .".to_owned()))
        }
        "gradle/gradle-build-action" | "gradle/actions/setup-gradle" => {
            format!("./gradlew {}", said("arguments")?)
        }
        "borales/actions-yarn" => format!("yarn {}", said("cmd")?),
        "oxsecurity/megalinter" | "github/super-linter" => return None,
        _ => COMMANDS.iter().find_map(|key| said(key))?,
    };
    Some((command.trim().to_owned(), uses.line()))
}

/// The toolchain that a job installs, where it is another than the one that everybody has.
pub(super) fn other_toolchain(job: &Node, leg: &Leg) -> Option<String> {
    let steps = job.get("steps").map_or(&[][..], Node::items);
    steps.iter().find_map(|step| {
        let uses = step.get("uses").and_then(Node::text).unwrap_or_default();
        let (action, version) = uses.split_once('@').unwrap_or((uses, ""));
        let is_rust = action.contains("rust-toolchain") || action == "actions-rs/toolchain";
        if is_rust {
            let with = step.get("with").and_then(|with| with.get("toolchain"));
            let said = with.and_then(Node::text).map(|text| leg.filled(text));
            let version = said.unwrap_or_else(|| version.to_owned());
            let is_known = version.starts_with(|c: char| c.is_ascii_digit())
                || version.starts_with("nightly")
                || version.starts_with("beta");
            // Forty digits are a pinned action.
            return (is_known && version.len() < 30).then_some(version);
        }
        let run = leg.filled(step.get("run").and_then(Node::text)?);
        let lines = run.lines().map(str::trim).filter(|line| line.starts_with("rustup"));
        let mut lines = lines.map(|line| leg.in_shell(line));
        let line = lines.find(|line| {
            line.contains("nightly")
                && ["default", "override", "update", "install"]
                    .iter()
                    .any(|word| line.contains(word))
        })?;
        (!line.contains("component")).then(|| "nightly".to_owned())
    })
}

/// Whether a job builds only so that somebody else's program can look at the result.
pub(super) fn only_builds_for_analysis(job: &Node) -> bool {
    let steps = job.get("steps").map_or(&[][..], Node::items);
    let mut uses = steps.iter().filter_map(|step| step.get("uses").and_then(Node::text));
    uses.any(|uses| uses.starts_with("github/codeql-action/init"))
}
