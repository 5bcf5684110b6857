//! Repositories, and what is proposed for them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    process::Command,
};

use super::*;

/// A repository in memory: paths and contents.
struct Files(BTreeMap<String, String>);

impl Files {
    fn of(files: &[(&str, &str)]) -> Self {
        Self(
            files
                .iter()
                .map(|(path, content)| ((*path).to_owned(), (*content).to_owned()))
                .collect(),
        )
    }
}

impl Tree for Files {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path).map(|content| content.clone().into_bytes())
    }

    fn list(&self, path: &str) -> Vec<TreeEntry> {
        let start = if path.is_empty() { String::new() } else { format!("{path}/") };
        let entries = self.0.keys().filter_map(|path| {
            let rest = path.strip_prefix(&start)?;
            Some(match rest.split_once('/') {
                Some((name, _)) => TreeEntry { name: name.to_owned(), kind: EntryKind::Directory },
                None => TreeEntry { name: rest.to_owned(), kind: EntryKind::File },
            })
        });
        entries.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

/// A manifest of npm that needs something.
const NEEDS: &str = r#"{"dependencies":{"a":"1"}}"#;

type Case = (&'static str, &'static [(&'static str, &'static str)]);

const ONE_ECOSYSTEM: &[Case] = &[
    ("npm", &[("package.json", NEEDS), ("package-lock.json", "{}")]),
    ("npm without a lockfile", &[("package.json", NEEDS)]),
    (
        "npm with a manifest that does not read",
        &[("package.json", "{{{"), ("npm-shrinkwrap.json", "")],
    ),
    (
        "pnpm beside a leftover of npm",
        &[("package.json", NEEDS), ("pnpm-lock.yaml", ""), ("package-lock.json", "{}")],
    ),
    ("pnpm by declaration", &[("package.json", r#"{"packageManager":"pnpm@9.1.0"}"#)]),
    ("yarn, classic", &[("package.json", NEEDS), ("yarn.lock", "# yarn lockfile v1\n")]),
    (
        "yarn, berry by its lockfile",
        &[("package.json", NEEDS), ("yarn.lock", "__metadata:\n  version: 8\n")],
    ),
    (
        "yarn, berry by its settings",
        &[("package.json", NEEDS), ("yarn.lock", ""), (".yarnrc.yml", "")],
    ),
    ("bun", &[("package.json", NEEDS), ("bun.lock", "")]),
    ("pip", &[("requirements.txt", ""), ("requirements-dev.txt", "")]),
    ("pip with a package", &[("requirements.txt", ""), ("setup.py", "")]),
    ("pip with a project", &[("pyproject.toml", "[project]\nname = \"x\"\n")]),
    ("pyproject with settings only", &[("pyproject.toml", "[tool.black]\n")]),
    ("poetry", &[("pyproject.toml", "[tool.poetry]\n"), ("poetry.lock", "")]),
    ("poetry without a lockfile", &[("pyproject.toml", "[tool.poetry.dependencies]\n")]),
    ("uv", &[("pyproject.toml", "[project]\n"), ("uv.lock", "")]),
    ("uv without a lockfile", &[("pyproject.toml", "[project]\n[tool.uv]\n")]),
    ("cargo", &[("Cargo.toml", "[dependencies]"), ("Cargo.lock", "[[package]]\nsource = ")]),
    ("cargo without a lockfile", &[("Cargo.toml", "[dependencies]")]),
    ("go", &[("go.mod", "require"), ("go.sum", "")]),
    ("go with a workspace", &[("go.work", ""), ("a/go.mod", "require"), ("b/go.mod", "require")]),
    ("maven", &[("pom.xml", "")]),
    ("maven with a wrapper and modules", &[("pom.xml", ""), ("mvnw", ""), ("core/pom.xml", "")]),
    ("gradle", &[("build.gradle", "")]),
    (
        "gradle with a wrapper",
        &[
            ("settings.gradle.kts", ""),
            ("gradlew", ""),
            ("app/build.gradle.kts", ""),
            ("gradle.lockfile", ""),
        ],
    ),
    ("bundler", &[("Gemfile", ""), ("Gemfile.lock", "")]),
    ("bundler without a lockfile", &[("Gemfile", "")]),
    ("composer", &[("composer.json", ""), ("composer.lock", "")]),
    (
        "manifests that need nothing",
        &[
            ("package.json", r#"{"scripts":{"test":"node --test"}}"#),
            ("Cargo.toml", "[package]\n"),
            ("Cargo.lock", "[[package]]\nname = \"x\"\n"),
            ("go.mod", "module x\n"),
        ],
    ),
    ("nothing", &[("README.md", ""), ("src/main.c", "")]),
];

const SEVERAL: &[Case] = &[
    (
        "rust with a web page below",
        &[
            ("Cargo.toml", "[dependencies]"),
            ("Cargo.lock", "[[package]]\nsource = "),
            ("crates/a/Cargo.toml", "[dependencies]"),
            ("web/package.json", NEEDS),
            ("web/package-lock.json", ""),
        ],
    ),
    (
        "a monorepo without anything at the root",
        &[
            ("api/go.mod", "require"),
            ("web/package.json", NEEDS),
            ("web/yarn.lock", ""),
            ("ml/requirements.txt", ""),
            ("docs/Gemfile", ""),
        ],
    ),
    (
        "workspaces of npm install their members",
        &[
            ("package.json", r#"{"workspaces":["a"]}"#),
            ("package-lock.json", ""),
            ("a/package.json", NEEDS),
            ("b/package.json", NEEDS),
            ("b/package-lock.json", ""),
        ],
    ),
    (
        "workspaces of pnpm install their members",
        &[
            ("package.json", NEEDS),
            ("pnpm-lock.yaml", ""),
            ("pnpm-workspace.yaml", ""),
            ("a/package.json", NEEDS),
        ],
    ),
    (
        "members of a cargo workspace, and one that stands alone",
        &[
            ("Cargo.toml", "[workspace]"),
            ("Cargo.lock", "[[package]]\nsource = "),
            ("a/Cargo.toml", "[dependencies]"),
            ("fuzz/Cargo.toml", "[dependencies]"),
            ("fuzz/Cargo.lock", "[[package]]\nsource = "),
        ],
    ),
    (
        "what is not the repository's own",
        &[
            ("node_modules/package.json", NEEDS),
            ("vendor/go.mod", "require"),
            (".hidden/pom.xml", ""),
            ("testdata/Cargo.toml", "[dependencies]"),
            ("a/b/package.json", NEEDS),
        ],
    ),
    (
        "many in one directory",
        &[
            ("package.json", NEEDS),
            ("Gemfile", ""),
            ("composer.json", ""),
            ("go.mod", "require"),
            ("pom.xml", ""),
        ],
    ),
];

const HOSTILE: &[Case] = &[
    (
        "names that the shell would act on",
        &[
            ("$(touch x)/package.json", NEEDS),
            ("`touch x`/go.mod", "require"),
            ("; touch x #/Cargo.toml", "[dependencies]"),
            ("-rf/pom.xml", ""),
            ("it's/Gemfile", ""),
            ("a b/setup.py", ""),
            ("~/composer.json", ""),
        ],
    ),
    (
        "a requirements file that the shell would act on",
        &[("requirements$(touch x).txt", ""), ("requirements -e evil.txt", "")],
    ),
    (
        "names that a person cannot read",
        &[
            ("a\ntouch x/package.json", NEEDS),
            ("b\u{202e}c/go.mod", "require"),
            ("d\u{1b}[8m/Cargo.toml", "[dependencies]"),
            ("requirements\n.txt", ""),
        ],
    ),
    ("a manifest that is a directory", &[("package.json/x", ""), ("Cargo.toml/x", "")]),
    (
        "a declared tool that is a command",
        &[("package.json", r#"{"packageManager":"pnpm; touch x@1"}"#)],
    ),
];

const FOR_WORK: &[Case] = &[
    (
        "extras, groups and programs that a project has settings for",
        &[
            (
                "pyproject.toml",
                "[project]\nname = \"x\"\nrequires-python = \">=3.10\"\n[project.optional-dependencies]\ntest = [\n  \"pytest>=8\",\n]\ndocs = [\"sphinx\"]\n[dependency-groups]\ndev = [\"ruff\"]\n[tool.ruff]\n[tool.mypy]\n",
            ),
            (".python-version", "3.12.1\n"),
            ("requirements/dev.txt", ""),
            ("requirements/docs.txt", ""),
            ("requirements-docs.txt", ""),
            ("tox.ini", ""),
        ],
    ),
    (
        "extras of setup.py",
        &[("setup.py", "setup(extras_require={'tests': ['a']})"), ("tests/x.py", "")],
    ),
    (
        "extras of uv",
        &[
            (
                "pyproject.toml",
                "[project.optional-dependencies]\ntests = []\n[dependency-groups]\ndev = []\nlint = []\n",
            ),
            ("uv.lock", ""),
        ],
    ),
    (
        "poetry with a group",
        &[
            (
                "pyproject.toml",
                "[tool.poetry]\n[tool.poetry.dependencies]\npython = \"^3.11\"\n[tool.poetry.group.test.dependencies]\n",
            ),
            ("poetry.lock", ""),
        ],
    ),
    (
        "a version of Node.js",
        &[("package.json", r#"{"engines":{"node":">=18"}}"#), (".nvmrc", "v22.3.0\n")],
    ),
    (
        "a version that is a command",
        &[
            ("package.json", NEEDS),
            (".nvmrc", "$(touch x)\n"),
            (".tool-versions", "nodejs ;touch\n"),
        ],
    ),
    ("a toolchain of Rust", &[("Cargo.toml", "[dependencies]"), ("rust-toolchain.toml", "")]),
    (
        "documents beside a project",
        &[("go.mod", "require"), ("docs/package.json", NEEDS), ("web/package.json", NEEDS)],
    ),
];

const PEOPLE: &[Case] = &[
    (
        "steps for a coding agent",
        &[
            (
                ".github/workflows/copilot-setup-steps.yml",
                "on: push\njobs:\n  copilot-setup-steps:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - name: deps\n        run: |\n          npm ci\n          pip install -r requirements.txt\n      - run: echo ${{ secrets.X }}\n      - run: make deps\n  other:\n    steps:\n      - run: rm -rf x\n",
            ),
            ("package.json", NEEDS),
        ],
    ),
    ("an environment", &[(".cursor/environment.json", r#"{"install": "go mod download"}"#)]),
    (
        "a container",
        &[
            (
                ".devcontainer/devcontainer.json",
                "{\n  // comment\n  \"image\": \"https://x\",\n  \"postCreateCommand\": [\"make\", \"a b\"],\n  \"onCreateCommand\": {\"one\": \"apt-get update\",},\n}\n",
            ),
            ("go.mod", "require"),
        ],
    ),
    (
        "what nobody can read is passed over",
        &[
            (".cursor/environment.json", "{\"install\": \"echo \\u001b[8m\"}"),
            ("go.mod", "require"),
        ],
    ),
    (
        "what would end its own frame is passed over",
        &[
            (".cursor/environment.json", r#"{"install": "x\nLAMP_SETUP_END\ntouch y"}"#),
            ("go.mod", "require"),
        ],
    ),
];

fn told(cases: &[Case]) -> String {
    let mut text = String::new();
    for (name, files) in cases {
        writeln!(text, "## {name}").unwrap();
        match propose(&Files::of(files)) {
            Some(Proposal { script, commands, because, lockfiles, registries }) => {
                let rest = format!(
                    "{commands:#?}\nbecause: {because:?}\nlockfiles: {lockfiles:?}\nfrom: {registries:?}"
                );
                writeln!(text, "{script}shown as: {rest}\n").unwrap();
            }
            None => writeln!(text, "nothing\n").unwrap(),
        }
    }
    text
}

#[test]
fn each_ecosystem_is_known_by_its_manifest_and_keeps_to_its_lockfile() {
    insta::assert_snapshot!(told(ONE_ECOSYSTEM));
}

#[test]
fn several_in_one_repository_are_all_set_up() {
    insta::assert_snapshot!(told(SEVERAL));
}

#[test]
fn what_a_maintainer_works_with_is_installed_too() {
    insta::assert_snapshot!(told(FOR_WORK));
}

#[test]
fn people_wrote_it_for_another_tool_and_are_believed_first() {
    insta::assert_snapshot!(told(PEOPLE));
}

#[test]
fn a_hostile_name_is_quoted_or_passed_over() {
    insta::assert_snapshot!(told(HOSTILE));
}

/// The shell is the judge: the script runs with programs that do nothing, and must not make a file.
#[test]
fn no_name_of_a_directory_becomes_a_command() {
    let programs = tempfile::tempdir().unwrap();
    for program in ["npm", "go", "cargo", "mvn", "bundle", "python", "python3", "composer"] {
        std::os::unix::fs::symlink("/bin/true", programs.path().join(program)).unwrap();
    }
    for (_, files) in HOSTILE {
        let work = tempfile::tempdir().unwrap();
        for (path, content) in *files {
            let place = work.path().join(path);
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, content).unwrap();
        }
        let Some(proposal) = propose(&Files::of(files)) else { continue };
        let status = Command::new("/bin/sh")
            .args(["-c", &proposal.script])
            .current_dir(work.path())
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", programs.path().display()))
            .env("HOME", work.path())
            .status()
            .unwrap();
        assert!(status.success(), "{}", proposal.script);
        let made = Command::new("find")
            .arg(work.path())
            .args(["-name", "x", "-size", "0", "-type", "f"])
            .output()
            .unwrap();
        let made = String::from_utf8_lossy(&made.stdout).into_owned();
        assert!(
            made.lines().all(|line| line.ends_with(".json/x") || line.ends_with(".toml/x")),
            "{made}"
        );
    }
}
