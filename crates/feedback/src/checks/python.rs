//! Python projects: tox and nox where they are set up, else the tools that have a table or a file of their own, else what the tests
//! themselves are written for.

use std::collections::BTreeSet;

use super::{
    candidate::{Candidate, Place, Source},
    check::{Confidence, Directory, Kind},
    classify::Ecosystem,
    manifests::PYTHON,
    pre_commit,
    tables::Tables,
    tree::Survey,
    units::{self, Reader},
};

pub(super) fn read(survey: &Survey) -> Vec<Candidate> {
    let directories = survey.directories(PYTHON);
    let mut tested: BTreeSet<Directory> = BTreeSet::new();
    let mut found = Vec::new();
    for directory in &directories {
        let project = Project::look(survey, directory);
        let is_covered = directory.above().any(|above| tested.contains(&above));
        if !is_covered && let Some(tests) = project.tests() {
            tested.insert(directory.clone());
            found.push(tests);
        }
        found.extend(project.target("tox.ini", "tox", &["testenv", "tox"]));
        found.extend(project.target("noxfile.py", "nox", &[]));
        found.extend(project.hooks());
        found.extend(project.linters());
    }
    if found.iter().all(|it| it.kind != Kind::Test) {
        found.extend(bare(survey));
    }
    found
}

/// Where the tests of a repository without any manifest are looked for, and how unittest is sent there.
const PLACES: [(&str, &str); 3] = [("tests", " -s tests"), ("test", " -s test"), ("", "")];

/// A repository that has tests and no file that says how they are run: the tests say it by what they bring in.
fn bare(survey: &Survey) -> Option<Candidate> {
    let root = Directory::parse("")?;
    let (start, (path, text)) = PLACES
        .into_iter()
        .find_map(|(place, start)| Some((start, survey.python_test(&root.join(place)?)?)))?;
    let brings = |name: &str| {
        text.lines().any(|line| {
            let rest = line.strip_prefix("import ").or_else(|| line.strip_prefix("from "));
            rest.is_some_and(|rest| rest.split([' ', '.', ',']).next() == Some(name))
        })
    };
    // Bare functions are nothing to unittest, which would find no test in them and be content.
    let are_functions = text.lines().any(|line| line.starts_with("def test"));
    let command = if !brings("unittest") && (brings("pytest") || are_functions) {
        "python3 -m pytest".to_owned()
    } else {
        format!("python3 -m unittest discover{start}")
    };
    Some(Candidate::habit(Kind::Test, Ecosystem::Python, &command, &root, path))
}

/// One directory with Python in it.
struct Project<'a> {
    survey: &'a Survey,
    directory: &'a Directory,
    pyproject: Tables<'a>,
    setup: Tables<'a>,
    tox: Tables<'a>,
}

impl<'a> Project<'a> {
    fn look(survey: &'a Survey, directory: &'a Directory) -> Self {
        let tables = |name| Tables::of(survey.text(directory, name).unwrap_or_default());
        let (pyproject, setup, tox) =
            (tables("pyproject.toml"), tables("setup.cfg"), tables("tox.ini"));
        Self { survey, directory, pyproject, setup, tox }
    }

    fn has(&self, file: &str) -> bool {
        self.survey.has(self.directory, file)
    }

    fn tests(&self) -> Option<Candidate> {
        let mentions = |file| {
            let text = self.survey.text(self.directory, file).unwrap_or_default();
            text.lines().any(|line| {
                let line = line.trim_start_matches([' ', '\t', '"', '\'', '-']);
                line.strip_prefix("pytest")
                    .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            })
        };
        let pytest = said_by(&[
            (self.has("pytest.ini"), "pytest.ini"),
            (self.pyproject.has("tool.pytest"), "pyproject.toml"),
            (self.setup.has("tool:pytest"), "setup.cfg"),
            (self.tox.has("pytest"), "tox.ini"),
            (self.has("conftest.py"), "conftest.py"),
            (mentions("pyproject.toml"), "pyproject.toml"),
            (mentions("requirements.txt"), "requirements.txt"),
            (mentions("Pipfile"), "Pipfile"),
        ]);
        if let Some(file) = pytest {
            return Some(self.habit(Kind::Test, "python3 -m pytest", file));
        }
        let is_project = said_by(&[
            (self.has("pyproject.toml"), "pyproject.toml"),
            (self.has("setup.py"), "setup.py"),
            (self.has("requirements.txt"), "requirements.txt"),
            (self.has("Pipfile"), "Pipfile"),
        ])?;
        let (_, start) = PLACES.into_iter().find(|(place, _)| {
            self.directory.join(place).is_some_and(|place| self.survey.has_python_tests(&place))
        })?;
        Some(self.habit(Kind::Test, &format!("python3 -m unittest discover{start}"), is_project))
    }

    fn linters(&self) -> Vec<Candidate> {
        let ruff = said_by(&[
            (self.pyproject.has("tool.ruff"), "pyproject.toml"),
            (self.has("ruff.toml"), "ruff.toml"),
            (self.has(".ruff.toml"), ".ruff.toml"),
        ]);
        let formats = said_by(&[(self.pyproject.has("tool.ruff.format"), "pyproject.toml")]);
        let black = said_by(&[(self.pyproject.has("tool.black"), "pyproject.toml")]);
        let mypy = said_by(&[
            (self.has("mypy.ini"), "mypy.ini"),
            (self.pyproject.has("tool.mypy"), "pyproject.toml"),
            (self.setup.has("mypy"), "setup.cfg"),
        ]);
        let flake8 = said_by(&[
            (self.has(".flake8"), ".flake8"),
            (self.setup.has("flake8"), "setup.cfg"),
            (self.tox.has("flake8"), "tox.ini"),
        ]);
        let tools = [
            (Kind::Format, "ruff format --check .", formats),
            (Kind::Format, "black --check .", black),
            (Kind::Lint, "ruff check .", ruff),
            (Kind::Lint, "flake8", flake8),
            (Kind::Lint, "mypy .", mypy),
        ];
        let said = tools
            .into_iter()
            .filter_map(|(kind, command, file)| Some(self.habit(kind, command, file?)));
        said.collect()
    }

    /// tox and nox are to Python what make is to others. What they run is taken, if it can be read, and else they themselves.
    fn target(&self, file: &str, command: &str, tables: &[&str]) -> Vec<Candidate> {
        let is_set_up = tables.is_empty() || tables.iter().any(|table| self.tox.has(table));
        if !self.has(file) || !is_set_up {
            return Vec::new();
        }
        let path = self.directory.file(file);
        let reading = Reader { survey: self.survey }.line(command, self.directory);
        let says = format!("`{command}` is set up here");
        let units = reading.unwrap_or_default().units.into_iter();
        let place = Place { file: &path, line: 0 };
        units
            .map(|unit| Candidate::written(unit, Source::Target, Confidence::Likely, place, &says))
            .collect()
    }

    /// The tools behind pre-commit's hooks: linters, beside which there should be tests.
    fn hooks(&self) -> Vec<Candidate> {
        let file = pre_commit::file(self.directory);
        let hooks = pre_commit::hooks(self.survey, self.directory).into_iter();
        let candidates = hooks.map(|hook| {
            let command = format!("{}{}", self.environment(), hook.command);
            let place = Place { file: &file, line: hook.line }.words();
            Candidate {
                source: Source::Target,
                confidence: Confidence::Likely,
                reason: format!("people run it before they commit ({place})"),
                ..Candidate::habit(hook.kind, hook.ecosystem, &command, self.directory, &file)
            }
        });
        candidates.collect()
    }

    fn habit(&self, kind: Kind, command: &str, file: &str) -> Candidate {
        let command = format!("{}{command}", self.environment());
        Candidate::habit(
            kind,
            Ecosystem::Python,
            &command,
            self.directory,
            &self.directory.file(file),
        )
    }

    fn environment(&self) -> &'static str {
        units::environment(self.survey, self.directory)
    }
}

/// The file that says so, of several that may.
fn said_by(places: &[(bool, &'static str)]) -> Option<&'static str> {
    places.iter().find(|(says, _)| *says).map(|(_, file)| *file)
}
