//! What one simple command does: judge the code, run a target, prepare, publish, or something that we do not know.

use std::collections::BTreeSet;

use super::{check::Kind, names, shell};

/// Whose tools a check uses. Two checks of one kind in one directory do the same only within one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ecosystem {
    Rust,
    JavaScript,
    Python,
    Go,
    Jvm,
    Other,
}

/// Who runs a target by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Make,
    Just,
    /// npm, pnpm, yarn, bun.
    Package,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Meaning {
    Judges {
        kind: Kind,
        ecosystem: Ecosystem,
        directory: Option<String>,
    },
    Runs {
        runner: Runner,
        targets: Vec<String>,
        directory: Option<String>,
    },
    Moves(String),
    /// Installs, prints, sets the shell up.
    Prepares,
    /// Leaves something outside, or has to.
    Publishes,
    Unknown,
}

/// What a script does, if one of its lines says so; the most expensive kind of several.
pub(super) fn kind_of_script(script: &str) -> Option<Kind> {
    let lines = shell::lines(script)?;
    let commands = lines.iter().filter_map(|line| shell::commands(line)).flatten();
    commands.filter_map(|words| kind_of(&meaning(&words))).max()
}

pub(super) fn kind_of(meaning: &Meaning) -> Option<Kind> {
    match meaning {
        Meaning::Judges { kind, .. } => Some(*kind),
        Meaning::Runs { targets, .. } => {
            targets.iter().filter_map(|target| names::kind_of(target)).max()
        }
        Meaning::Moves(_) | Meaning::Prepares | Meaning::Publishes | Meaning::Unknown => None,
    }
}

/// Whose tools a line uses, as far as it is understood.
pub(super) fn ecosystems_of(line: &str) -> BTreeSet<Ecosystem> {
    let commands = shell::commands(line).unwrap_or_default();
    let each = commands.iter().filter_map(|words| match meaning(words) {
        Meaning::Judges { ecosystem, .. } => Some(ecosystem),
        Meaning::Runs { runner: Runner::Package, .. } => Some(Ecosystem::JavaScript),
        Meaning::Runs { runner: Runner::Make | Runner::Just, .. }
        | Meaning::Moves(_)
        | Meaning::Prepares
        | Meaning::Publishes
        | Meaning::Unknown => None,
    });
    each.collect()
}

pub(super) fn meaning(words: &[String]) -> Meaning {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = without_wrappers(&words);
    let Some((&program, arguments)) = words.split_first() else { return Meaning::Unknown };
    let program = program.strip_prefix("./").unwrap_or(program);
    let (directory, arguments) = without_directory(arguments);
    let arguments = arguments.as_slice();
    // These change code, never end, or only talk.
    let is_no_question =
        |word: &str| matches!(word, "--fix" | "--write" | "--watch" | "--help" | "--version");
    // For package managers this one names a workspace.
    let writes = arguments.contains(&"-w") && !matches!(program, "npm" | "pnpm" | "yarn");
    if writes || arguments.iter().any(|word| is_no_question(word)) {
        return Meaning::Unknown;
    }
    let judges =
        |kind, ecosystem| Meaning::Judges { kind, ecosystem, directory: directory.clone() };
    let runs = |runner, targets: Vec<String>| {
        if targets.is_empty() {
            return Meaning::Unknown;
        }
        Meaning::Runs { runner, targets, directory: directory.clone() }
    };
    match program {
        "make" | "gmake" => runs(Runner::Make, plain(arguments)),
        "just" => runs(Runner::Just, plain(arguments).into_iter().take(1).collect()),
        "npm" | "pnpm" | "yarn" | "bun" => package_runner(program, arguments, judges, runs),
        "cd" => {
            arguments.first().map_or(Meaning::Unknown, |path| Meaning::Moves((*path).to_owned()))
        }
        "cargo" => {
            cargo(arguments).map_or_else(|other| other, |kind| judges(kind, Ecosystem::Rust))
        }
        "go" => go(arguments).map_or_else(|other| other, |kind| judges(kind, Ecosystem::Go)),
        "gradlew" | "gradle" | "mvn" | "mvnw" => {
            jvm(arguments).map_or_else(|other| other, |kind| judges(kind, Ecosystem::Jvm))
        }
        _ => match tool(program, arguments) {
            Some((kind, ecosystem)) => judges(kind, ecosystem),
            None => preparation(program, arguments),
        },
    }
}

/// Tools that do one thing.
fn tool(program: &str, arguments: &[&str]) -> Option<(Kind, Ecosystem)> {
    use Ecosystem::{Go, JavaScript, Other, Python, Rust};
    let first = plain_words(arguments).next().unwrap_or_default();
    let checks = arguments.iter().any(|word| {
        matches!(*word, "--check" | "-c" | "--list-different" | "--diff" | "--dry-run")
    });
    let found = match program {
        "pytest" | "py.test" | "unittest" | "nose2" => (Kind::Test, Python),
        // They run what their environment is named after, and tests where it has no telling name.
        "tox" | "nox" => {
            (plain_words(arguments).filter_map(names::kind_of).max().unwrap_or(Kind::Test), Python)
        }
        "ruff" if first == "format" && checks => (Kind::Format, Python),
        "ruff" if first == "check" => (Kind::Lint, Python),
        "black" | "isort" if checks => (Kind::Format, Python),
        "mypy" | "pyright" | "basedpyright" | "flake8" | "pylint" => (Kind::Lint, Python),
        "jest" | "vitest" | "mocha" | "ava" | "c8" | "nyc" => (Kind::Test, JavaScript),
        "node" if arguments.contains(&"--test") => (Kind::Test, JavaScript),
        "deno" if first == "test" => (Kind::Test, JavaScript),
        "deno" if matches!(first, "lint" | "check") => (Kind::Lint, JavaScript),
        "eslint" | "oxlint" | "stylelint" => (Kind::Lint, JavaScript),
        "biome" if matches!(first, "ci" | "check" | "lint") => (Kind::Lint, JavaScript),
        "tsc" if arguments.contains(&"--noEmit") => (Kind::Lint, JavaScript),
        "tsc" => (Kind::Build, JavaScript),
        "prettier" if checks => (Kind::Format, JavaScript),
        "turbo" | "nx" | "lerna" => {
            let kind = plain_words(arguments).filter_map(names::kind_of).max()?;
            (kind, JavaScript)
        }
        "golangci-lint" if first == "run" => (Kind::Lint, Go),
        "staticcheck" => (Kind::Lint, Go),
        "gotestsum" | "ginkgo" => (Kind::Test, Go),
        "rustfmt" if checks => (Kind::Format, Rust),
        "ctest" | "phpunit" | "rspec" | "bats" => (Kind::Test, Other),
        "rubocop" | "shellcheck" | "phpstan" | "pre-commit" => (Kind::Lint, Other),
        "mix" | "dotnet" | "swift" | "bazel" | "zig" | "composer" | "meson" | "rake" => {
            let kind = names::kind_of(first).filter(|_| first != "install")?;
            (kind, Other)
        }
        _ => return None,
    };
    Some(found)
}

/// Another toolchain, another target or an interpreter is nothing that a sandbox has by itself.
fn cargo(arguments: &[&str]) -> Result<Kind, Meaning> {
    let is_special = |word: &str| {
        matches!(word, "--target" | "-Z" | "miri" | "hack")
            || word.starts_with("--target=")
            || word.starts_with("-Z")
    };
    let toolchain = arguments.first().and_then(|word| word.strip_prefix('+'));
    if toolchain.is_some_and(|toolchain| toolchain != "stable")
        || arguments.iter().any(|word| is_special(word))
    {
        return Err(Meaning::Unknown);
    }
    let mut words = arguments.iter().copied().skip_while(|word| word.starts_with(['+', '-']));
    let checks = arguments.contains(&"--check");
    match words.next().unwrap_or_default() {
        "test" | "t" | "nextest" | "llvm-cov" => Ok(Kind::Test),
        "clippy" | "deny" | "audit" | "machete" | "doc" => Ok(Kind::Lint),
        "build" | "b" | "check" | "c" => Ok(Kind::Build),
        "fmt" if checks => Ok(Kind::Format),
        "publish" | "login" | "release" => Err(Meaning::Publishes),
        "install" | "fetch" | "binstall" => Err(Meaning::Prepares),
        _ => Err(Meaning::Unknown),
    }
}

fn go(arguments: &[&str]) -> Result<Kind, Meaning> {
    match arguments.first().copied().unwrap_or_default() {
        "test" => Ok(Kind::Test),
        "vet" => Ok(Kind::Lint),
        "build" => Ok(Kind::Build),
        "mod" | "install" | "get" => Err(Meaning::Prepares),
        _ => Err(Meaning::Unknown),
    }
}

fn jvm(arguments: &[&str]) -> Result<Kind, Meaning> {
    let goals = || plain_words(arguments).map(|goal| goal.rsplit(':').next().unwrap_or(goal));
    if goals()
        .any(|goal| goal == "deploy" || goal.starts_with("publish") || goal.starts_with("release"))
    {
        return Err(Meaning::Publishes);
    }
    let kind = |goal: &str| match goal {
        "test" | "check" | "verify" | "build" | "integrationTest" | "install" => Some(Kind::Test),
        "compile" | "assemble" | "package" | "classes" => Some(Kind::Build),
        "spotlessCheck" => Some(Kind::Format),
        "lint" | "detekt" | "checkstyleMain" | "ktlintCheck" => Some(Kind::Lint),
        _ => None,
    };
    goals().filter_map(kind).max().ok_or(Meaning::Unknown)
}

fn package_runner(
    program: &str,
    arguments: &[&str],
    judges: impl Fn(Kind, Ecosystem) -> Meaning,
    runs: impl Fn(Runner, Vec<String>) -> Meaning,
) -> Meaning {
    let mut words = plain_words(arguments);
    match words.next().unwrap_or_default() {
        "run" | "run-script" => {
            runs(Runner::Package, words.next().map(str::to_owned).into_iter().collect())
        }
        "t" | "tst" if program == "npm" => runs(Runner::Package, vec!["test".to_owned()]),
        "test" if program == "bun" => judges(Kind::Test, Ecosystem::JavaScript),
        "publish" | "login" | "version" => Meaning::Publishes,
        "install" | "i" | "ci" | "add" | "" => Meaning::Prepares,
        "test" => runs(Runner::Package, vec!["test".to_owned()]),
        // yarn and pnpm run a script by its bare name; npm does not.
        script if program != "npm" && names::kind_of(script).is_some() => {
            runs(Runner::Package, vec![script.to_owned()])
        }
        _ => Meaning::Unknown,
    }
}

fn preparation(program: &str, arguments: &[&str]) -> Meaning {
    let first = plain_words(arguments).next().unwrap_or_default();
    match (program, first) {
        (
            "docker" | "podman" | "gh" | "helm" | "kubectl" | "terraform" | "aws" | "gcloud" | "az"
            | "twine" | "vercel" | "netlify",
            _,
        )
        | ("git", "push" | "tag" | "commit") => Meaning::Publishes,
        (
            "echo" | "set" | "mkdir" | "apt-get" | "apt" | "brew" | "rustup" | "corepack" | "git"
            | "ls" | "which" | "pwd" | "true" | ":",
            _,
        )
        | (
            "pip" | "pip3" | "pipx" | "uv" | "poetry" | "pdm" | "bundle",
            "install" | "sync" | "pip" | "venv" | "lock" | "",
        ) => Meaning::Prepares,
        _ => Meaning::Unknown,
    }
}

/// Removes what only says how a command is run: variables before it, `uv run`, `npx`, `python -m`.
fn without_wrappers<'a, 'b>(mut words: &'b [&'a str]) -> &'b [&'a str] {
    // Each turn takes at least one word, so this ends.
    loop {
        words = match words {
            [first, rest @ ..] if is_assignment(first) => rest,
            [
                "env" | "time" | "sudo" | "npx" | "bunx" | "xvfb-run" | "command" | "exec",
                rest @ ..,
            ]
            | ["uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye", "run", rest @ ..]
            | ["pnpm" | "yarn" | "npm" | "bundle", "exec", rest @ ..]
            | ["pnpm" | "yarn", "dlx", rest @ ..] => after_options(rest),
            ["timeout", rest @ ..] => after_options(rest).get(1..).unwrap_or_default(),
            ["python" | "python3" | "py", "-m", rest @ ..] => rest,
            [program, "-m", rest @ ..] if program.starts_with("python3.") => rest,
            _ => return words,
        };
    }
}

fn after_options<'a, 'b>(words: &'b [&'a str]) -> &'b [&'a str] {
    let options = words.iter().take_while(|word| word.starts_with('-')).count();
    words.get(options..).unwrap_or_default()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Takes `-C web`, `--prefix web` and their like out of the arguments.
fn without_directory<'a>(arguments: &[&'a str]) -> (Option<String>, Vec<&'a str>) {
    const OPTIONS: &[&str] =
        &["-C", "--prefix", "--cwd", "--directory", "--dir", "--manifest-path"];
    let mut directory = None;
    let mut rest = Vec::new();
    let mut words = arguments.iter().copied();
    while let Some(word) = words.next() {
        let (option, value) =
            word.split_once('=').map_or((word, None), |(option, value)| (option, Some(value)));
        if !OPTIONS.contains(&option) {
            rest.push(word);
            continue;
        }
        let Some(path) = value.or_else(|| words.next()) else { break };
        let path = path.strip_suffix("Cargo.toml").unwrap_or(path);
        directory = Some(path.to_owned());
    }
    (directory, rest)
}

fn plain_words<'a>(arguments: &[&'a str]) -> impl Iterator<Item = &'a str> {
    arguments.iter().copied().filter(|word| !word.starts_with('-') && !is_assignment(word))
}

fn plain(arguments: &[&str]) -> Vec<String> {
    plain_words(arguments).map(str::to_owned).collect()
}
