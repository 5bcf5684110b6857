//! Ruby, PHP, Elixir, .NET, Swift, Deno, Scala: what every project of these can be asked.

use super::{
    candidate::{Candidate, Place, Source},
    check::{Confidence, Directory, Kind},
    classify::Ecosystem,
    package_scripts,
    tree::Survey,
};

pub(super) fn read(survey: &Survey) -> Vec<Candidate> {
    let mut found = Vec::new();
    let nearest = |names: &[&str]| {
        let all = survey.directories(names);
        let is_outermost = |it: &&Directory| !it.above().any(|above| all.contains(&above));
        all.iter().filter(is_outermost).cloned().collect::<Vec<_>>()
    };
    for at in survey.directories(&["Gemfile"]) {
        found.extend(ruby(survey, &at));
    }
    for at in nearest(&["composer.json"]) {
        found.extend(php(survey, &at));
    }
    for at in nearest(&["mix.exs"]) {
        let file = at.file("mix.exs");
        found.push(Candidate::habit(Kind::Test, Ecosystem::Beam, "mix test", &at, &file));
    }
    for at in nearest(&["CMakeLists.txt"]) {
        found.extend(native(survey, &at));
    }
    for at in nearest(&["Package.swift"]) {
        if survey.has(&at, "CMakeLists.txt") {
            continue;
        }
        let file = at.file("Package.swift");
        found.push(Candidate::habit(Kind::Test, Ecosystem::Swift, "swift test", &at, &file));
    }
    for at in nearest(&["build.sbt"]) {
        let file = at.file("build.sbt");
        found.push(Candidate::habit(Kind::Test, Ecosystem::Jvm, "sbt test", &at, &file));
    }
    for at in nearest(&["stack.yaml"]) {
        let file = at.file("stack.yaml");
        found.push(Candidate::habit(Kind::Test, Ecosystem::Other, "stack test", &at, &file));
    }
    for name in ["deno.json", "deno.jsonc"] {
        for at in nearest(&[name]) {
            let file = at.file(name);
            found.push(Candidate::habit(
                Kind::Test,
                Ecosystem::JavaScript,
                "deno test",
                &at,
                &file,
            ));
        }
    }
    found.extend(dot_net(survey));
    found
}

/// A solution names its tests; projects alone are tried at the root.
fn dot_net(survey: &Survey) -> Option<Candidate> {
    let root = Directory::default();
    let endings = [".slnx", ".sln", ".csproj", ".fsproj"];
    let file = endings.iter().find_map(|ending| survey.ending(&root, ending))?;
    Some(Candidate::habit(Kind::Test, Ecosystem::DotNet, "dotnet test", &root, file))
}

/// `CMake` knows tests where somebody has turned them on.
fn native(survey: &Survey, at: &Directory) -> Option<Candidate> {
    let text = survey.text(at, "CMakeLists.txt")?.to_lowercase();
    let has_tests = text.contains("enable_testing") || text.contains("include(ctest)");
    let command =
        "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure";
    let file = at.file("CMakeLists.txt");
    has_tests.then(|| Candidate::habit(Kind::Test, Ecosystem::Native, command, at, &file))
}

fn ruby(survey: &Survey, at: &Directory) -> Vec<Candidate> {
    let gems = survey.text(at, "Gemfile").unwrap_or_default();
    let rakefile = survey.text(at, "Rakefile");
    let has = |file| survey.has(at, file);
    let uses = |gem: &str| {
        gems.contains(&format!("gem \"{gem}\"")) || gems.contains(&format!("gem '{gem}'"))
    };
    let defines = |task: &str| {
        rakefile.is_some_and(|text| {
            [format!("task :{task}"), format!("task {task}:"), format!("task '{task}'")]
                .iter()
                .any(|words| text.contains(words.as_str()))
        })
    };
    let is_test_task = rakefile.is_some_and(|text| text.contains("TestTask"));
    let is_spec_task = rakefile.is_some_and(|text| text.contains("RSpec::Core::RakeTask"));
    let test = match () {
        () if is_test_task || defines("test") => Some(("bundle exec rake test", "Rakefile")),
        () if has(".rspec") => Some(("bundle exec rspec", ".rspec")),
        () if is_spec_task || uses("rspec") => Some(("bundle exec rspec", "Gemfile")),
        () if defines("default") => Some(("bundle exec rake", "Rakefile")),
        () => None,
    };
    let lint = has(".rubocop.yml").then_some(("bundle exec rubocop", ".rubocop.yml"));
    let checks = [(Kind::Test, test), (Kind::Lint, lint)];
    checks
        .into_iter()
        .filter_map(|(kind, check)| {
            let (command, file) = check?;
            Some(Candidate::habit(kind, Ecosystem::Ruby, command, at, &at.file(file)))
        })
        .collect()
}

fn php(survey: &Survey, at: &Directory) -> Vec<Candidate> {
    let file = at.file("composer.json");
    let Some(manifest) = survey.text(at, "composer.json").and_then(package_scripts::parse) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (name, kind) in package_scripts::named(&manifest) {
        let habit =
            Candidate::habit(kind, Ecosystem::Php, &format!("composer run {name}"), at, &file);
        let place = Place { file: &file, line: 0 }.words();
        found.push(Candidate {
            source: Source::Script,
            confidence: Confidence::Likely,
            reason: format!("`{name}` is a script for people to run ({place})"),
            ..habit
        });
    }
    let configured = ["phpunit.xml.dist", "phpunit.xml"].into_iter().find(|it| survey.has(at, it));
    found.extend(configured.map(|name| {
        Candidate::habit(Kind::Test, Ecosystem::Php, "vendor/bin/phpunit", at, &at.file(name))
    }));
    found
}
