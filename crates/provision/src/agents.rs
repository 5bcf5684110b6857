//! The agents of this server: those with a file in `agents/` beside `lamp.yaml`, every program by its own name, and for a task those that
//! its repository defines itself ([`crate::offers`]).
//!
//! ```text
//!  agents/*.yaml ── read with lamp.yaml, and again with it ──▶ Staff ── by name ──▶ Member ── by mode ──▶ Worker
//!  agents/*.yaml of the repository, at a commit ── offers ──────▲
//! ```
//!
//! A file that is wrong breaks the agent that it is about and no other: whoever asks for that agent is told the line. A name that the server
//! has, by a file or as a program, is the server's; a file of the server whose agent is named like a program goes before the program.

use std::{collections::BTreeMap, io, path::Path};

use agents::{Program, program};
use config::{
    agent::{AgentFile, Driver, PhaseChoice},
    names::{ModelName, Script},
};
use contracts::agent::Mode;
use domain::{agent::AgentName, definition::Definition, digest::Digest};

use crate::files::{self, FilesError};

/// Files of agents. More are a mistake, not a wish.
const MOST: usize = 1_000;

/// The agent that works where nobody says which, unless there is exactly one file.
const USUAL: &str = "builtin";

/// All that have a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staff {
    pub(crate) written: BTreeMap<AgentName, Written>,
    pub(crate) broken: Vec<Broken>,
    /// Whom the repository means where nobody says who: its only one.
    pub(crate) only: Option<AgentName>,
    /// Agents of the repository whose names are the server's, and where they are written.
    pub(crate) hidden: Vec<(AgentName, String)>,
}

/// A file, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// As people know it: `agents/fix.yaml`.
    pub place: String,
    pub file: AgentFile,
    /// What the file says, to the letter.
    pub text: String,
    /// Where it was read, with the hash of the text.
    pub definition: Definition,
}

/// A file that is wrong, and so an agent that nobody can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub place: String,
    /// As far as it can be told.
    pub name: Option<AgentName>,
    /// Each with its line and what helps; never empty.
    pub problem: String,
    pub owner: Owner,
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Server,
    Repository,
}

/// An agent that there is.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    program: &'static Program,
    pub written: Option<&'a Written>,
}

/// Who works in one mode.
#[derive(Debug, Clone, Copy)]
pub struct Worker<'a> {
    pub program: &'static Program,
    /// As the file names it.
    pub model: Option<&'a str>,
    pub command: Option<&'a str>,
    pub kin: Kin,
}

/// Whether it is the agent's own program, so that a model for the agent is one for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kin {
    Own,
    Another,
}

impl Staff {
    /// All of `directory`; nobody, if it is not there.
    pub fn read(directory: &Path) -> Result<Self, FilesError> {
        let entries = match std::fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(FilesError::Agents(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry.map_err(FilesError::Agents)?.path();
            let is_hidden =
                path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if !is_hidden && path.extension().is_some_and(|extension| extension == "yaml") {
                paths.push(path);
            }
        }
        if paths.len() > MOST {
            let directory = directory.to_owned();
            return Err(FilesError::TooManyAgents { directory, most: MOST });
        }
        paths.sort();
        let mut staff = Self::default();
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let place = format!("agents/{name}");
            match files::agent(&path) {
                Ok((file, text)) => {
                    let digest = Digest::of(text.as_bytes());
                    let definition = Definition::Server { file: place.clone(), digest };
                    staff.take(Written { place, file, text, definition }, Owner::Server);
                }
                Err(error) => staff.broken.push(Broken {
                    name: meant(&name, text_of(&path).as_deref()),
                    problem: error.whole(),
                    place,
                    owner: Owner::Server,
                }),
            }
        }
        Ok(staff)
    }

    /// Where the files are, beside `lamp.yaml`.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.written.values().map(|written| written.place.as_str())
    }

    /// All that are written, in the order of their names.
    pub fn written(&self) -> impl Iterator<Item = &Written> {
        self.written.values()
    }

    /// Files that are wrong.
    pub fn broken(&self) -> &[Broken] {
        &self.broken
    }

    /// Agents of the repository that nobody gets, because the server has one of that name: the name, and the file.
    pub fn hidden(&self) -> &[(AgentName, String)] {
        &self.hidden
    }

    /// Why the agent of that name cannot be had, if it is for a wrong file.
    pub fn why_broken(&self, name: &AgentName) -> Option<String> {
        let broken = self.broken.iter().find(|it| it.name.as_ref() == Some(name))?;
        Some(format!("the agent `{name}` is broken: {}", broken.problem.trim_end()))
    }

    /// Of two with one name neither is taken: nobody could say which is meant.
    pub(crate) fn take(&mut self, written: Written, owner: Owner) {
        let name = written.file.lamp.name.clone();
        let place = written.place.clone();
        let twice = self.broken.iter().find(|it| it.name.as_ref() == Some(&name));
        let first = twice.map(|it| it.place.clone());
        let first = first.or_else(|| self.written.remove(&name).map(|it| it.place));
        let Some(first) = first else {
            self.written.insert(name, written);
            return;
        };
        for place in [first.clone(), place.clone()] {
            if self.broken.iter().any(|it| it.place == place) {
                continue;
            }
            let problem = format!(
                "`{first}` and `{}` both name their agent `{name}`; give one of them another name",
                written.place
            );
            self.broken.push(Broken { place, name: Some(name.clone()), problem, owner });
        }
    }

    pub fn member(&self, name: &AgentName) -> Option<Member<'_>> {
        if let Some(written) = self.written.get(name) {
            let program = named(written.file.agent.driver)?;
            return Some(Member { program, written: Some(written) });
        }
        let program =
            Program::named(name.as_str()).filter(|program| works_without_file(program))?;
        Some(Member { program, written: None })
    }

    /// Who works where nobody says who: the repository's only one, the server's only one, or the one that comes with Lamplighter. A wrong
    /// file counts, so that nobody works in its place unasked.
    pub fn usual(&self) -> String {
        if let Some(only) = &self.only {
            return only.to_string();
        }
        let is_server = |it: &&Written| matches!(it.definition, Definition::Server { .. });
        let written = self.written.values().filter(is_server).map(|it| &it.file.lamp.name);
        let broken = self.broken.iter().filter(|it| it.owner == Owner::Server);
        let mut names: Vec<&AgentName> =
            written.chain(broken.filter_map(|it| it.name.as_ref())).collect();
        names.sort();
        names.dedup();
        match names.as_slice() {
            [only] => only.to_string(),
            [] | [_, _, ..] => USUAL.to_owned(),
        }
    }

    /// All that there are, those with a file first.
    pub fn names(&self) -> Vec<String> {
        let programs = program::ALL.into_iter().filter(|program| works_without_file(program));
        let programs = programs.map(|program| program.name.to_owned());
        let written = self.written.keys().map(ToString::to_string);
        let mut names: Vec<String> = written.collect();
        for name in programs {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

fn text_of(path: &Path) -> Option<String> {
    config::text_file::read(path).ok()
}

/// The agent that a wrong file is about: as it says, or as it is called.
pub(crate) fn meant(file: &str, text: Option<&str>) -> Option<AgentName> {
    let said = text.and_then(config::owned::name_in);
    said.or_else(|| file.strip_suffix(".yaml")?.parse().ok())
}

/// Whether a name is enough: for others a file has to say what is started.
const fn works_without_file(program: &Program) -> bool {
    !program.binary.is_empty()
}

fn named(driver: Driver) -> Option<&'static Program> {
    Program::named(driver.as_str())
}

impl<'a> Member<'a> {
    /// Where this agent is defined.
    pub fn definition(&self) -> Definition {
        self.written.map_or(Definition::BuiltIn, |written| written.definition.clone())
    }

    pub fn file(&self) -> Option<&'a AgentFile> {
        self.written.map(|written| &written.file)
    }

    /// Who works in `mode`: the agent's program, unless the file has another for the phase.
    pub fn worker(&self, mode: Mode) -> Worker<'a> {
        let Some(file) = self.file() else {
            return Worker { program: self.program, model: None, command: None, kin: Kin::Own };
        };
        let choice = choice(file, mode);
        let other = choice.and_then(|choice| choice.driver).filter(|it| *it != file.agent.driver);
        let model = choice.and_then(|choice| choice.model.as_ref());
        let command = choice.and_then(|choice| choice.command.as_ref());
        // A model and a command belong to the program that they were written for.
        let (program, model, command, kin) = if let Some(program) = other.and_then(named) {
            (program, model, command, Kin::Another)
        } else {
            let model = model.or(file.agent.model.as_ref());
            (self.program, model, command.or(file.agent.command.as_ref()), Kin::Own)
        };
        let (model, command) = (model.map(ModelName::as_str), command.map(Script::as_str));
        Worker { program, model, command, kin }
    }

    /// Every program that works in some mode, each once.
    pub fn programs(&self) -> Vec<&'static Program> {
        let mut programs: Vec<&'static Program> = Vec::new();
        for mode in Mode::ALL {
            let program = self.worker(mode).program;
            if !programs.iter().any(|known| known.name == program.name) {
                programs.push(program);
            }
        }
        programs
    }
}

const fn choice(file: &AgentFile, mode: Mode) -> Option<&PhaseChoice> {
    match mode {
        Mode::Research | Mode::Plan => file.phases.research.as_ref(),
        Mode::Implement => file.phases.implement.as_ref(),
        Mode::Review => file.phases.review.as_ref(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::server_files::ServerFiles;

    const FIX: &str = "lamp: { version: 1, name: fix }\nagent: { driver: claude-code, model: big }\n\
        phases: { research: { model: small }, review: { driver: codex } }\nsandbox: { repositories: [{ name: web }] }\n";

    /// A directory with these files.
    pub(crate) fn staff(files: &[(&str, &str)]) -> Result<Staff, FilesError> {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs_err::write(directory.path().join(name), text).unwrap();
        }
        Staff::read(directory.path())
    }

    /// What the files of a server say: `lamp.yaml`, and more beside it.
    pub(crate) fn said(server: &str, files: &[(&str, &str)]) -> ServerFiles {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs_err::create_dir(at("agents")).unwrap();
        fs_err::write(at("lamp.yaml"), format!("version: 1\n{server}")).unwrap();
        for (name, text) in files {
            fs_err::write(at(name), text).unwrap();
        }
        ServerFiles::read(&at("lamp.yaml")).unwrap()
    }

    #[test]
    fn every_driver_of_a_file_is_a_program() {
        for driver in Driver::ALL {
            assert!(named(*driver).is_some(), "{}", driver.as_str());
        }
    }

    #[test]
    fn programs_need_no_file_unless_one_has_to_say_what_is_started() {
        let nobody = Staff::default();
        for name in ["builtin", "codex", "claude-code", "opencode", "gemini", "pi", "qwen"] {
            let member = nobody.member(&name.parse().unwrap()).unwrap();
            assert_eq!(member.worker(Mode::Plan).program.name, name);
        }
        for name in ["command", "acp", "fix"] {
            assert!(nobody.member(&name.parse().unwrap()).is_none(), "{name}");
        }
        assert_eq!(nobody.usual(), "builtin");
    }

    #[test]
    fn a_file_says_who_works_in_which_phase() {
        let staff = staff(&[("fix.yaml", FIX), ("notes.txt", "no agent"), (".fix.yaml", "x")]);
        let staff = staff.unwrap();
        assert_eq!(staff.usual(), "fix", "it is the only one");
        let member = staff.member(&"fix".parse().unwrap()).unwrap();
        let told = Mode::ALL.map(|mode| {
            let worker = member.worker(mode);
            (worker.program.name, worker.model, worker.kin)
        });
        assert_eq!(
            told,
            [
                ("claude-code", Some("small"), Kin::Own),
                ("claude-code", Some("small"), Kin::Own),
                ("claude-code", Some("big"), Kin::Own),
                ("codex", None, Kin::Another),
            ]
        );
        let programs: Vec<&str> = member.programs().iter().map(|program| program.name).collect();
        assert_eq!(programs, ["claude-code", "codex"]);
    }

    #[test]
    fn a_wrong_file_breaks_its_own_agent_and_no_other() {
        let other = FIX.replace("name: fix", "name: other");
        let wrong = FIX.replace("driver: claude-code", "driver: claude");
        let staff = staff(&[("a.yaml", &wrong), ("b.yaml", &other)]).unwrap();
        assert!(staff.member(&"other".parse().unwrap()).is_some());
        assert!(staff.member(&"fix".parse().unwrap()).is_none());
        let why = staff.why_broken(&"fix".parse().unwrap()).unwrap();
        assert!(why.contains("a.yaml:2:18: ") && why.contains("help: "), "{why}");
        assert_eq!(staff.usual(), "builtin", "there are two");
    }

    #[test]
    fn a_wrong_file_does_not_give_way_to_a_program_of_its_name() {
        let staff = staff(&[("codex.yaml", "lamp: {"), ("odd name.yaml", "lamp: {")]).unwrap();
        assert!(staff.why_broken(&"codex".parse().unwrap()).is_some());
        assert_eq!(staff.usual(), "codex", "and so nobody works in its place unasked");
        assert_eq!(staff.broken().len(), 2);
    }

    #[test]
    fn of_two_agents_with_one_name_neither_is_taken() {
        let staff = staff(&[("a.yaml", FIX), ("b.yaml", FIX), ("c.yaml", FIX)]).unwrap();
        assert!(staff.member(&"fix".parse().unwrap()).is_none());
        let told: Vec<&str> = staff.broken().iter().map(|it| it.problem.as_str()).collect();
        assert_eq!(told.len(), 3);
        assert_eq!(
            told[0],
            "`agents/a.yaml` and `agents/b.yaml` both name their agent `fix`; give one of them another name"
        );
    }
}
