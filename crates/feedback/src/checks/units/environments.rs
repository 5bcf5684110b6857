//! tox, nox and pre-commit: what they run in the environments that they make.

use super::{
    super::{
        check::Directory,
        nox::Nox,
        pre_commit,
        shell::{self, Part},
        tox::Tox,
        tree::Survey,
    },
    Reader, Unit,
};

impl Reader<'_> {
    /// tox, nox and pre-commit make environments of their own, with things from the network. What they run there are the checks.
    /// Nothing where it is another tool, or where the file is not there.
    pub(super) fn environments(
        self,
        part: &Part,
        at: &Directory,
        depth: usize,
    ) -> Option<Vec<Unit>> {
        let program = part.words.iter().find_map(|word| {
            ["tox", "nox", "pre-commit", "prek"].into_iter().find(|it| it == word)
        });
        let program = program?;
        let wanted = wanted_environments(&part.words);
        let mut lines: Vec<(String, String)> = Vec::new();
        match program {
            "tox" => {
                let tox = Tox::at(self.survey, at)?;
                lines.extend(tox.commands(&wanted).into_iter().map(|it| {
                    let environment = it.environment;
                    let place = format!("`{}`, line {}", tox.file, it.line);
                    (it.command, format!("`{}` runs it as `{environment}` ({place})", part.text))
                }));
            }
            "nox" => {
                let nox = Nox::at(self.survey, at)?;
                lines.extend(nox.commands(&wanted).into_iter().map(|(session, line, command)| {
                    let place = format!("`{}`, line {line}", nox.file);
                    let through = format!("`{}` runs it as `{session}` ({place})", part.text);
                    (command.to_owned(), through)
                }));
            }
            _ => {
                let file = pre_commit::file(at);
                lines.extend(pre_commit::hooks(self.survey, at).into_iter().map(|hook| {
                    let place = format!("`{file}`, line {}", hook.line);
                    (hook.command.to_owned(), format!("`{}` runs it ({place})", part.text))
                }));
            }
        }
        let prefix = environment(self.survey, at);
        let units = lines.into_iter().filter_map(|(command, through)| {
            let parts = shell::parts(&format!("{prefix}{command}"))?;
            let [inner] = parts.as_slice() else { return None };
            let units = if depth > 1 { Vec::new() } else { self.part(inner, at, depth + 1) };
            Some(units.into_iter().map(move |unit| Unit { through: Some(through.clone()), ..unit }))
        });
        let units = units.flatten();
        let mut found: Vec<Unit> = Vec::new();
        for unit in units {
            // The same tool for another Python is a leg of the same matrix.
            let is_leg = |other: &Unit| {
                other.kind == unit.kind
                    && without_versions(&other.command) == without_versions(&unit.command)
            };
            if !found.iter().any(is_leg) {
                found.push(unit);
            }
        }
        // Where no session of a noxfile can be read, nox itself has to do. One session alone that cannot be read is passed over, like an
        // environment of tox whose commands are no checks: both would fetch from the network.
        let is_unread = program == "nox" && wanted.is_empty() && found.is_empty();
        (!is_unread).then_some(found)
    }
}

/// Whoever locked the dependencies of Python knows where they are installed.
pub(in super::super) fn environment(survey: &Survey, directory: &Directory) -> &'static str {
    let locks = [
        ("uv.lock", "uv run "),
        ("poetry.lock", "poetry run "),
        ("pdm.lock", "pdm run "),
        ("Pipfile.lock", "pipenv run "),
    ];
    let places = || std::iter::once(directory.clone()).chain(directory.above());
    let locked = locks.into_iter().find(|(lock, _)| places().any(|place| survey.has(&place, lock)));
    locked.map_or("", |(_, run)| run)
}

/// What stands behind `-e` or `-s`.
fn wanted_environments(words: &[String]) -> Vec<String> {
    let mut wanted = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if matches!(word.as_str(), "-e" | "-s" | "--session" | "--sessions") {
            wanted.extend(
                rest.next().into_iter().flat_map(|names| names.split(',')).map(str::to_owned),
            );
        } else if let Some(names) = word.strip_prefix("-e").filter(|it| !it.is_empty()) {
            wanted.extend(names.split(',').map(str::to_owned));
        }
    }
    wanted
}

fn without_versions(command: &str) -> String {
    command.split(' ').filter(|word| !word.contains("python-version")).collect::<Vec<_>>().join(" ")
}
