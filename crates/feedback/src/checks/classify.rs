//! What one simple command does: judge the code, run a target, prepare, publish, or something that we do not know.

use super::{
    check::Kind,
    names,
    shell::{self, is_assignment},
};

/// Whose tools a check uses. Two checks of one kind in one directory do the same only within one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ecosystem {
    Rust,
    JavaScript,
    Python,
    Go,
    Jvm,
    Ruby,
    Php,
    Beam,
    DotNet,
    Swift,
    Native,
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
    /// Runs a file of the repository, with these arguments.
    Script {
        path: String,
        arguments: Vec<String>,
    },
    /// Judges, but with something that a sandbox has not by itself: another toolchain, another target.
    Elsewhere(&'static str),
    /// Installs what is needed. The image has done that.
    Installs,
    /// Prints, sets the shell up.
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

/// Whether a script only asks tools, or runs targets that are named as checks.
pub(super) fn only_judges(script: &str) -> bool {
    let judges =
        |words: &Vec<String>| kind_of(&meaning(words)).is_some_and(|kind| kind != Kind::Build);
    let lines = shell::lines(script).unwrap_or_default();
    let all: Option<Vec<_>> = lines.iter().map(|line| shell::commands(line)).collect();
    let all: Vec<Vec<String>> = all.unwrap_or_default().into_iter().flatten().collect();
    !all.is_empty() && all.iter().all(judges)
}

pub(super) fn kind_of(meaning: &Meaning) -> Option<Kind> {
    match meaning {
        Meaning::Judges { kind, .. } => Some(*kind),
        Meaning::Runs { targets, .. } => {
            targets.iter().filter_map(|target| names::kind_of(target)).max()
        }
        Meaning::Script { path, .. } => names::kind_of_file(path),
        Meaning::Moves(_)
        | Meaning::Elsewhere(_)
        | Meaning::Installs
        | Meaning::Prepares
        | Meaning::Publishes
        | Meaning::Unknown => None,
    }
}

pub(super) fn meaning(words: &[String]) -> Meaning {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let words = without_wrappers(&words);
    let Some((&program, arguments)) = words.split_first() else { return Meaning::Unknown };
    let called = program;
    let program = installed_name(program.strip_prefix("./").unwrap_or(program));
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
        "composer" => {
            composer(arguments).map_or_else(|other| other, |kind| judges(kind, Ecosystem::Php))
        }
        _ => match tool(program, arguments) {
            Some((kind, ecosystem)) => judges(kind, ecosystem),
            None => file(called, arguments).unwrap_or_else(|| preparation(program, arguments)),
        },
    }
}

/// A tool that lies where its package manager puts it is the tool.
fn installed_name(program: &str) -> &str {
    const PLACES: &[&str] =
        &["vendor/bin/", "node_modules/.bin/", ".venv/bin/", "venv/bin/", "bin/"];
    let inside = PLACES.iter().find_map(|place| program.strip_prefix(place));
    inside.filter(|name| !name.contains(['/', '.'])).unwrap_or(program)
}

/// `./ci/test.sh all`, `bash -e ci/test.sh`, `python run_tests.py`: a file of the repository.
fn file(called: &str, arguments: &[&str]) -> Option<Meaning> {
    const INTERPRETERS: &[&str] =
        &["sh", "bash", "dash", "python", "python3", "node", "ruby", "php", "perl", "deno", "tsx"];
    let script = |path: &str, rest: &[&str]| {
        let path = path.strip_prefix("./").unwrap_or(path).to_owned();
        let arguments = rest.iter().map(|word| (*word).to_owned()).collect();
        Some(Meaning::Script { path, arguments })
    };
    if INTERPRETERS.contains(&called) || called.starts_with("python3.") {
        let (path, rest) = after_options(arguments).split_first()?;
        let is_file = path.contains(['/', '.']) && !path.starts_with('/');
        return is_file.then(|| script(path, rest)).flatten();
    }
    let is_file = called.contains('/') && !called.starts_with(['/', '~']);
    is_file.then(|| script(called, arguments)).flatten()
}

/// Tools that do one thing.
fn tool(program: &str, arguments: &[&str]) -> Option<(Kind, Ecosystem)> {
    use Ecosystem::{Beam, DotNet, Go, JavaScript, Native, Other, Php, Python, Ruby, Rust, Swift};
    let first = plain_words(arguments).next().unwrap_or_default();
    let checks = arguments.iter().any(|word| {
        matches!(*word, "--check" | "-c" | "--list-different" | "--diff" | "--dry-run")
    });
    let found = match program {
        "pytest" | "py.test" | "unittest" | "nose2" => (Kind::Test, Python),
        // They run what their environment is named after, and tests where it has no telling name.
        "tox" | "nox" => (kind_of_environments(arguments)?, Python),
        "ruff" if first == "format" && checks => (Kind::Format, Python),
        "ruff" if first == "check" => (Kind::Lint, Python),
        "black" | "isort" if checks => (Kind::Format, Python),
        "mypy" | "pyright" | "basedpyright" | "flake8" | "pylint" => (Kind::Lint, Python),
        "jest" | "vitest" | "mocha" | "ava" | "c8" | "nyc" | "tape" | "tap" | "uvu" | "jasmine"
        | "karma" | "borp" => (Kind::Test, JavaScript),
        "node" if arguments.contains(&"--test") => (Kind::Test, JavaScript),
        "deno" if first == "test" => (Kind::Test, JavaScript),
        "deno" if matches!(first, "lint" | "check") => (Kind::Lint, JavaScript),
        "eslint" | "oxlint" | "stylelint" | "standard" | "xo" | "jshint" => {
            (Kind::Lint, JavaScript)
        }
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
        "phpunit" | "pest" | "paratest" => (Kind::Test, Php),
        "phpstan" | "psalm" | "phpcs" => (Kind::Lint, Php),
        "php-cs-fixer" if checks => (Kind::Format, Php),
        "rspec" | "cucumber" => (Kind::Test, Ruby),
        "rubocop" | "standardrb" | "steep" => (Kind::Lint, Ruby),
        "rake" if first.is_empty() => (Kind::Test, Ruby),
        "rake" | "rails" | "bake" => (names::kind_of(first)?, Ruby),
        "mix" if first == "test" => (Kind::Test, Beam),
        "mix" if first == "format" && arguments.contains(&"--check-formatted") => {
            (Kind::Format, Beam)
        }
        "mix" if matches!(first, "credo" | "dialyzer") => (Kind::Lint, Beam),
        "mix" if first == "compile" => (Kind::Build, Beam),
        "rebar3" if matches!(first, "eunit" | "ct") => (Kind::Test, Beam),
        "dotnet" if first == "format" && arguments.contains(&"--verify-no-changes") => {
            (Kind::Format, DotNet)
        }
        "dotnet" if first != "format" => (names::kind_of(first)?, DotNet),
        "swift" => (names::kind_of(first)?, Swift),
        "ctest" => (Kind::Test, Native),
        "bats" => (Kind::Test, Other),
        "shellcheck" | "pre-commit" | "prek" => (Kind::Lint, Other),
        "bazel" | "zig" | "meson" | "sbt" | "stack" | "cabal" | "lein" => {
            let kind = names::kind_of(first).filter(|_| first != "install")?;
            (kind, Other)
        }
        _ => return None,
    };
    Some(found)
}

/// By the names of the environments; those of Pythons, and all of them, run tests.
fn kind_of_environments(arguments: &[&str]) -> Option<Kind> {
    let own = arguments.iter().take_while(|word| **word != "--").copied().collect::<Vec<_>>();
    let names: Vec<&str> = plain_words(&own)
        .filter(|word| !matches!(*word, "run" | "r" | "run-parallel" | "p"))
        .flat_map(|names| names.split(','))
        .collect();
    let is_python =
        |name: &&str| name.starts_with("py") || name.starts_with(|c: char| c.is_ascii_digit());
    if names.is_empty() || names.iter().any(is_python) {
        return Some(Kind::Test);
    }
    names.iter().filter_map(|name| names::kind_of(name)).max()
}

/// `composer test` is a script of `composer.json`, `composer exec phpunit` a tool.
fn composer(arguments: &[&str]) -> Result<Kind, Meaning> {
    let mut words = plain_words(arguments);
    match words.next().unwrap_or_default() {
        "install" | "update" | "require" | "config" | "" => Err(Meaning::Installs),
        "validate" | "audit" => Err(Meaning::Prepares),
        "run" | "run-script" => words.next().and_then(names::kind_of).ok_or(Meaning::Unknown),
        "exec" => {
            let tool_words: Vec<&str> = words.collect();
            let named = tool_words.split_first().and_then(|(name, rest)| tool(name, rest));
            named.map(|(kind, _)| kind).ok_or(Meaning::Unknown)
        }
        script => match names::kind_of(script) {
            Some(kind) => Ok(kind),
            None => tool(script, &["--check"]).map(|(kind, _)| kind).ok_or(Meaning::Unknown),
        },
    }
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
        return Err(Meaning::Elsewhere("it needs another toolchain, target or cargo command"));
    }
    let mut words = arguments.iter().copied().skip_while(|word| word.starts_with(['+', '-']));
    let checks = arguments.contains(&"--check");
    match words.next().unwrap_or_default() {
        "test" | "t" | "nextest" | "llvm-cov" => Ok(Kind::Test),
        "clippy" | "deny" | "audit" | "machete" | "doc" => Ok(Kind::Lint),
        "build" | "b" | "check" | "c" => Ok(Kind::Build),
        "fmt" if checks => Ok(Kind::Format),
        "publish" | "login" | "release" => Err(Meaning::Publishes),
        "install" | "fetch" | "binstall" | "update" | "generate-lockfile" => Err(Meaning::Installs),
        _ => Err(Meaning::Unknown),
    }
}

fn go(arguments: &[&str]) -> Result<Kind, Meaning> {
    match arguments.first().copied().unwrap_or_default() {
        "test" => Ok(Kind::Test),
        "vet" => Ok(Kind::Lint),
        "build" => Ok(Kind::Build),
        "mod" | "install" | "get" => Err(Meaning::Installs),
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
    let skips = |word: &&str| {
        word.starts_with("-Dmaven.test.skip") || word.starts_with("-DskipTests") || *word == "-x"
    };
    let is_untested = arguments.iter().any(skips);
    let kind = |goal: &str| match goal {
        "test" | "check" | "verify" | "build" | "install" if is_untested => Some(Kind::Build),
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
        "install" | "i" | "ci" | "add" | "" => Meaning::Installs,
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
            "echo" | "set" | "mkdir" | "git" | "ls" | "which" | "pwd" | "true" | ":" | "printf"
            | "exit" | "cat" | "lscpu" | "uname",
            _,
        ) => Meaning::Prepares,
        ("apt-get" | "apt" | "brew" | "rustup" | "corepack" | "apk" | "dnf" | "gem", _)
        | ("mix", "deps.get" | "local.hex" | "local.rebar")
        | ("dotnet", "restore" | "tool")
        | (
            "pip" | "pip3" | "pipx" | "uv" | "poetry" | "pdm" | "bundle",
            "install" | "sync" | "pip" | "venv" | "lock" | "",
        ) => Meaning::Installs,
        _ => Meaning::Unknown,
    }
}

/// Removes what only says how a command is run: variables before it, `uv run`, `npx`, `python -m`.
pub(super) fn without_wrappers<'a, 'b>(mut words: &'b [&'a str]) -> &'b [&'a str] {
    // Each turn takes at least one word, so this ends.
    loop {
        words = match words {
            [first, rest @ ..] if is_assignment(first) => rest,
            [
                "env" | "time" | "sudo" | "npx" | "bunx" | "xvfb-run" | "command" | "exec"
                | "cross-env" | "uvx",
                rest @ ..,
            ]
            | ["uv" | "poetry" | "pipenv" | "pdm" | "hatch" | "rye" | "pipx", "run", rest @ ..]
            | ["uv", "tool", "run", rest @ ..]
            | ["pnpm" | "yarn" | "npm" | "bundle", "exec", rest @ ..]
            | ["pnpm" | "yarn", "dlx", rest @ ..] => after_options(rest),
            ["coverage", "run", rest @ ..] => match after_options(rest) {
                // `coverage run -m pytest` has the module behind an option.
                _ if rest.contains(&"-m") => {
                    let at = rest.iter().position(|word| *word == "-m").unwrap_or_default();
                    rest.get(at + 1..).unwrap_or_default()
                }
                other => other,
            },
            // They measure whatever comes after their own options.
            ["nyc" | "c8", rest @ ..] if rest.iter().any(|word| is_measured(word)) => {
                let at = rest.iter().position(|word| is_measured(word)).unwrap_or_default();
                rest.get(at..).unwrap_or_default()
            }
            ["timeout", rest @ ..] => after_options(rest).get(1..).unwrap_or_default(),
            ["python" | "python3" | "py", "-m", rest @ ..] => rest,
            [program, "-m", rest @ ..] if program.starts_with("python3.") => rest,
            _ => return words,
        };
    }
}

fn is_measured(word: &str) -> bool {
    matches!(
        word,
        "npm"
            | "pnpm"
            | "yarn"
            | "mocha"
            | "tape"
            | "tap"
            | "ava"
            | "jest"
            | "node"
            | "vitest"
            | "uvu"
            | "jasmine"
    )
}

/// Options of those that run other programs; some have a word of their own behind them.
fn after_options<'a, 'b>(words: &'b [&'a str]) -> &'b [&'a str] {
    const WITH_VALUE: &[&str] = &[
        "--group",
        "--with",
        "--python",
        "-p",
        "--extra",
        "--package",
        "--from",
        "--spec",
        "--env-file",
        "--project",
        "--only-group",
        "--with-requirements",
        "--with-editable",
    ];
    let mut rest = words;
    while let [option, after @ ..] = rest
        && option.starts_with('-')
    {
        rest = after;
        if *option == "--" {
            break;
        }
        if WITH_VALUE.contains(option) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    rest
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
