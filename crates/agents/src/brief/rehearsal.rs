//! Tries templates before they are used: with all that a brief can have, and with nothing.

use std::path::Path;

use contracts::agent::{Brief, InFlight, Mode, Surroundings};
use domain::{
    approval::Conditions,
    money::Money,
    plan::{Estimate, FileChange, Plan},
};

use super::{
    Instruction, RepositoryFacts, TemplateError, Templates, pack,
    template::{BUILT_IN, read_all},
};
use crate::answer;

impl Templates {
    /// Ours, except where `directory` has one of the same name.
    pub fn load(directory: Option<&Path>) -> Result<Self, TemplateError> {
        let Some(directory) = directory else { return Self::builtin() };
        let mut written = read_all(directory)?;
        let sources = BUILT_IN.map(|(name, text)| {
            written.remove(name).map_or_else(
                || (name, format!("built-in {name}"), text.to_owned()),
                |text| (name, directory.join(name).display().to_string(), text),
            )
        });
        let templates = Self::new(sources)?;
        all(&templates)?;
        Ok(templates)
    }
}

/// The first mistake that shows.
pub(super) fn all(templates: &Templates) -> Result<(), TemplateError> {
    for mode in Mode::ALL {
        let (poor, rich) = (Brief::default(), brief());
        templates.prompt(mode, &poor, &pack(&poor, &[]))?;
        templates.prompt(mode, &rich, &pack(&rich, &[facts()]))?;
        if let Err(faults) = answer::read_plain(mode, "[]") {
            templates.repair(mode, &faults)?;
        }
    }
    Ok(())
}

fn texts(what: &str) -> Vec<String> {
    // More than are told, so that "left out" is tried as well.
    (1..100).map(|number| format!("{what} {number}")).collect()
}

fn brief() -> Brief {
    let work = InFlight {
        title: "other work".to_owned(),
        branch: "other".to_owned(),
        paths: vec!["src/other.rs".to_owned()],
    };
    Brief {
        request: "a request".to_owned(),
        author: "ann".to_owned(),
        quotes: texts("quote"),
        guidance: texts("guidance"),
        feedback: texts("finding"),
        dismissed: texts("dismissed"),
        approved: Some((plan(), conditions())),
        surroundings: Surroundings {
            base_checks: Some("green".to_owned()),
            issues: texts("issue"),
            in_flight: vec![work],
        },
    }
}

fn plan() -> Plan {
    Plan {
        summary: "a summary".to_owned(),
        files: vec![FileChange { path: "src/lib.rs".to_owned(), why: "a reason".to_owned() }],
        tests: texts("test"),
        expected_behaviour: "it works".to_owned(),
        commands: texts("command"),
        hosts: Vec::new(),
        risks: texts("risk"),
        estimate: Estimate::default(),
    }
}

fn conditions() -> Conditions {
    Conditions { budget: Some(Money::from_dollars(1)), ..Conditions::default() }
}

fn facts() -> RepositoryFacts {
    let note = |number: u32| Instruction {
        path: format!("part-{number}/AGENTS.md"),
        text: "a rule\n".repeat(4_000),
    };
    RepositoryFacts {
        name: "web".to_owned(),
        directory: "/workspace/web".to_owned(),
        instructions: (1..9).map(note).collect(),
        base: None,
        touched: texts("touched"),
        commits: texts("commit"),
    }
}
