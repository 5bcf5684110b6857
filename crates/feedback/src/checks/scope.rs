//! Is a command the plain one of its tool, or a variant of it?
//!
//! CI tries a library in many ways. Whoever knows it well runs the plain one first; the others say something only beside it. What is not
//! known here as a restriction is taken for a matter of taste: how much is printed, how many run at once.

use super::{deed::Scope, shell::is_assignment};

pub(super) fn of(words: &[String]) -> Scope {
    let assigned = words.iter().take_while(|word| is_assignment(word));
    let by_variables = assigned.filter_map(|word| word.split_once('=')).map(of_variable).max();
    let rest: Vec<&str> =
        words.iter().map(String::as_str).skip_while(|word| is_assignment(word)).collect();
    by_variables.unwrap_or(Scope::Plain).max(of_words(&rest))
}

fn of_variable((name, value): (&str, &str)) -> Scope {
    match name {
        "RUSTFLAGS" | "RUSTDOCFLAGS" | "CARGO_BUILD_RUSTFLAGS" => {
            // Warnings as errors is what many write everywhere.
            let flags = value.replace("-D warnings", "-Dwarnings");
            let is_plain = flags.split_whitespace().all(|flag| flag == "-Dwarnings");
            if is_plain { Scope::Plain } else { Scope::Special }
        }
        "GOFLAGS" | "CGO_ENABLED" | "GOEXPERIMENT" => Scope::Variant,
        "GOOS" | "GOARCH" | "CARGO_BUILD_TARGET" => Scope::Special,
        name if name.starts_with("LOOM_") || name.starts_with("MIRI") => Scope::Special,
        _ => Scope::Plain,
    }
}

fn of_words(words: &[&str]) -> Scope {
    let tools = [
        "cargo",
        "go",
        "pytest",
        "py.test",
        "mvn",
        "mvnw",
        "./mvnw",
        "gradle",
        "gradlew",
        "./gradlew",
        "rake",
        "bake",
        "rails",
        "phpunit",
        "mocha",
    ];
    let Some(at) = words.iter().position(|word| tools.contains(word)) else { return Scope::Plain };
    let Some((tool, arguments)) = words.get(at..).and_then(<[&str]>::split_first) else {
        return Scope::Plain;
    };
    match *tool {
        "cargo" => cargo(arguments),
        "go" => go(arguments),
        "pytest" | "py.test" => pytest(arguments),
        "mvn" | "mvnw" | "./mvnw" => maven(arguments),
        "gradle" | "gradlew" | "./gradlew" => gradle(arguments),
        // `test:units` is a part of `test`.
        "rake" | "bake" | "rails" if arguments.iter().any(|word| word.contains(':')) => Scope::Part,
        "rake" | "bake" | "rails" => Scope::Plain,
        _ => chosen(arguments, &["--filter", "--group", "--testsuite", "--grep", "-g", "-f"]),
    }
}

fn cargo(arguments: &[&str]) -> Scope {
    const PARTS: &[&str] = &[
        "--lib",
        "--bins",
        "--bin",
        "--doc",
        "--test",
        "--tests",
        "--examples",
        "--example",
        "--benches",
        "--bench",
        "-p",
        "--package",
        "--exclude",
    ];
    const VARIANTS: &[&str] =
        &["--features", "-F", "--no-default-features", "--release", "-r", "--profile"];
    const WITH_VALUE: &[&str] = &[
        "-p",
        "--package",
        "--features",
        "-F",
        "--bin",
        "--test",
        "--example",
        "--bench",
        "--profile",
        "--exclude",
        "-j",
        "--jobs",
        "--color",
        "--manifest-path",
        "--target-dir",
        "--message-format",
        "--config",
        "-E",
        "--retries",
        "-P",
        "--partition",
    ];
    let mine: Vec<&str> = arguments.iter().copied().take_while(|word| *word != "--").collect();
    let name = |word: &str| word.split_once('=').map_or(word, |(name, _)| name).to_owned();
    let is_in = |list: &[&str]| mine.iter().any(|word| list.contains(&name(word).as_str()));
    let ignored = arguments.iter().any(|word| matches!(*word, "--ignored" | "--skip" | "--exact"));
    // After the subcommand a bare word is a filter of tests.
    let mut rest = mine.iter().copied().skip_while(|word| word.starts_with(['+', '-']));
    let subcommand = rest.next().unwrap_or_default();
    let mut filters = 0_usize;
    while let Some(word) = rest.next() {
        if WITH_VALUE.contains(&word) {
            rest.next();
        } else if !word.starts_with('-') {
            filters += 1;
        }
    }
    let is_filtered = match subcommand {
        "test" | "t" => filters > 0,
        "nextest" => filters > 1 || is_in(&["-E", "--partition"]),
        _ => false,
    };
    match () {
        () if is_in(VARIANTS) => Scope::Variant,
        () if is_in(PARTS) || ignored || is_filtered => Scope::Part,
        () => Scope::Plain,
    }
}

fn go(arguments: &[&str]) -> Scope {
    let has = |names: &[&str]| {
        arguments.iter().any(|word| {
            let name = word.trim_start_matches('-').split('=').next().unwrap_or_default();
            word.starts_with('-') && names.contains(&name)
        })
    };
    let is_all = arguments.iter().any(|word| matches!(*word, "./..." | "..."));
    match () {
        () if has(&["tags"]) => Scope::Variant,
        () if has(&["run", "bench", "fuzz", "short"]) || !is_all => Scope::Part,
        () => Scope::Plain,
    }
}

fn pytest(arguments: &[&str]) -> Scope {
    let one = arguments
        .iter()
        .any(|word| !word.starts_with('-') && (word.contains("::") || is_file(word)));
    if one {
        return Scope::Part;
    }
    chosen(arguments, &["-k", "-m", "--ignore", "--deselect", "--ignore-glob", "--lf", "--co"])
}

/// One file of tests.
fn is_file(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(_, ending)| ending == "py")
}

fn maven(arguments: &[&str]) -> Scope {
    let skips =
        |word: &&str| word.starts_with("-Dmaven.test.skip") || word.starts_with("-DskipTests");
    if arguments.iter().any(skips) {
        return Scope::Special;
    }
    if arguments.iter().any(|word| word.starts_with("-Dtest=")) {
        return Scope::Part;
    }
    chosen(arguments, &["-pl", "--projects", "-P", "--activate-profiles"])
}

/// Properties of the build make another one.
fn gradle(arguments: &[&str]) -> Scope {
    let builds_otherwise = arguments.iter().any(|word| {
        (word.starts_with("-D") || word.starts_with("-P")) && !word.contains("org.gradle")
    });
    if builds_otherwise {
        return Scope::Special;
    }
    chosen(arguments, &["--tests", "-p"])
}

/// A part, if one of these options chooses it.
fn chosen(arguments: &[&str], options: &[&str]) -> Scope {
    let is_chosen = arguments
        .iter()
        .map(|word| word.split_once('=').map_or(*word, |(name, _)| name))
        .any(|name| options.contains(&name));
    if is_chosen { Scope::Part } else { Scope::Plain }
}
