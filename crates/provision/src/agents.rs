//! The agents of this server: those with a file in `agents/` beside `lamp.yaml`, and every program by its own name.
//!
//! ```text
//!  agents/*.yaml ── read with lamp.yaml, and again with it ──▶ Staff ── by name ──▶ Member ── by mode ──▶ Worker
//! ```
//!
//! A file that is wrong keeps all from being taken: what held before holds, and whoever asked is told (`reload`). A file whose agent is
//! named like a program goes before the program.

use std::{collections::BTreeMap, io, path::Path};

use agents::{Program, program};
use config::{
    agent::{AgentFile, Driver, PhaseChoice},
    names::{ModelName, Script},
};
use contracts::agent::Mode;
use domain::agent::AgentName;

use crate::files::{self, FilesError};

/// Files of agents. More are a mistake, not a wish.
const MOST: usize = 1_000;

/// The agent that works where nobody says which, unless there is exactly one file.
const USUAL: &str = "builtin";

/// All that have a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staff {
    written: BTreeMap<AgentName, Written>,
}

/// A file, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// As people know it: `agents/fix.yaml`.
    pub place: String,
    pub file: AgentFile,
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
            let file = files::agent(&path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            staff.take(Written { place: format!("agents/{name}"), file })?;
        }
        Ok(staff)
    }

    /// Where the files are, beside `lamp.yaml`.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.written.values().map(|written| written.place.as_str())
    }

    fn take(&mut self, written: Written) -> Result<(), FilesError> {
        let name = written.file.lamp.name.clone();
        let place = written.place.clone();
        if let Some(other) = self.written.insert(name.clone(), written) {
            return Err(FilesError::TwoAgents { first: other.place, second: place, name });
        }
        Ok(())
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

    /// Who works where nobody says who.
    pub fn usual(&self) -> String {
        let mut names = self.written.keys();
        match (names.next(), names.next()) {
            (Some(only), None) => only.to_string(),
            (None | Some(_), _) => USUAL.to_owned(),
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

/// Whether a name is enough: for others a file has to say what is started.
const fn works_without_file(program: &Program) -> bool {
    !program.binary.is_empty()
}

fn named(driver: Driver) -> Option<&'static Program> {
    Program::named(driver.as_str())
}

impl<'a> Member<'a> {
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
    fn two_agents_of_one_name_and_a_broken_file_are_told() {
        let twice = staff(&[("a.yaml", FIX), ("b.yaml", FIX)]).unwrap_err();
        assert_eq!(
            twice.to_string(),
            "`agents/a.yaml` and `agents/b.yaml` both name their agent `fix`"
        );
        let broken = staff(&[("a.yaml", "lamp: { version: 1 }")]).unwrap_err();
        assert!(broken.whole().contains("a.yaml:1:"), "{}", broken.whole());
    }
}
