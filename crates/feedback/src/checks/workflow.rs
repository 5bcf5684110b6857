//! Workflow files of CI: the `run:` steps that judge code.
//!
//! What CI runs is the best word about a repository's checks. But much of a workflow cannot be done here: steps of other people's actions,
//! expressions, machines that are not Linux, releases. Such steps are passed over instead of guessed at.

use std::collections::BTreeSet;

use super::{
    candidate::{Candidate, Source},
    check::{Confidence, Directory},
    classify::{self, Ecosystem, Meaning, Runner},
    justfile, makefile, shell,
    tree::{Found, Survey},
    yaml::{self, Node},
};

const STEPS_LIMIT: usize = 500;

pub(super) fn read(survey: &Survey) -> Vec<Candidate> {
    survey.workflows().iter().flat_map(|file| workflow(survey, file)).collect()
}

fn workflow(survey: &Survey, file: &Found<'_>) -> Vec<Candidate> {
    let Some(root) = yaml::parse(file.text) else { return Vec::new() };
    if !root.get("on").is_some_and(judges_changes) {
        return Vec::new();
    }
    let jobs = root.get("jobs").map_or(&[][..], Node::entries);
    let mut found = Vec::new();
    let mut steps_left = STEPS_LIMIT;
    for (_, job) in jobs.iter().filter(|(_, job)| runs_here(job)) {
        for step in job.get("steps").map_or(&[][..], Node::items) {
            let Some(left) = steps_left.checked_sub(1) else { return found };
            steps_left = left;
            let Some(script) = step.get("run").and_then(Node::text) else { continue };
            let Some(directory) = directory(&[step], &[job, &root]) else { continue };
            if is_unconditional(step) && has_usual_shell(step) {
                found.extend(Script { survey, file, directory }.checks(script));
            }
        }
    }
    found
}

/// Started by changes, and not only by tags, clocks or people.
fn judges_changes(on: &Node) -> bool {
    let is_change =
        |name: &str| matches!(name, "pull_request" | "push" | "merge_group" | "workflow_call");
    match on {
        Node::Text(name) => is_change(name),
        Node::List(names) => names.iter().filter_map(Node::text).any(is_change),
        Node::Section(entries) => entries.iter().any(|(name, with)| {
            let only_tags = with.get("tags").is_some() && with.get("branches").is_none();
            is_change(name) && !only_tags
        }),
        Node::Unread => false,
    }
}

/// A job for Linux, or for several systems of which Linux may be one, that is not skipped by a condition.
fn runs_here(job: &Node) -> bool {
    let elsewhere =
        |name: &str| ["windows", "macos", "mac-"].iter().any(|system| name.starts_with(system));
    let machine = job.get("runs-on").and_then(Node::text).unwrap_or_default();
    !elsewhere(machine) && is_unconditional(job)
}

fn is_unconditional(step: &Node) -> bool {
    let Some(condition) = step.get("if") else { return true };
    let condition = condition.text().unwrap_or("unknown").trim();
    let condition =
        condition.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).unwrap_or(condition);
    matches!(condition.trim(), "always()" | "success()" | "!cancelled()" | "true")
}

fn has_usual_shell(step: &Node) -> bool {
    let shell = step.get("shell").and_then(Node::text).unwrap_or("bash");
    matches!(shell, "bash" | "sh")
}

/// Where a step is run: as it says itself, or as its job or the whole file has it.
fn directory(steps: &[&Node], defaults: &[&Node]) -> Option<Directory> {
    let own = steps.iter().find_map(|step| step.get("working-directory"));
    let inherited = || {
        defaults.iter().find_map(|node| node.get("defaults")?.get("run")?.get("working-directory"))
    };
    match own.or_else(inherited) {
        None => Some(Directory::default()),
        Some(path) => Directory::parse(path.text()?),
    }
}

/// One `run:`, which may have several lines.
struct Script<'a> {
    survey: &'a Survey,
    file: &'a Found<'a>,
    directory: Directory,
}

impl Script<'_> {
    fn checks(mut self, script: &str) -> Vec<Candidate> {
        let Some(lines) = shell::lines(script) else { return Vec::new() };
        let mut found = Vec::new();
        let mut confidence = Confidence::Certain;
        for line in lines {
            let Some(commands) = shell::commands(&line) else {
                // It may have made what the next line needs.
                confidence = Confidence::Likely;
                continue;
            };
            let meanings: Vec<Meaning> =
                commands.iter().map(|words| classify::meaning(words)).collect();
            if meanings.contains(&Meaning::Publishes) {
                return Vec::new();
            }
            if let [Meaning::Moves(path)] = meanings.as_slice() {
                let Some(directory) = self.directory.join(path) else { break };
                self.directory = directory;
                continue;
            }
            match self.check(&line, &meanings, confidence) {
                Some(check) => found.push(check),
                None if meanings.contains(&Meaning::Unknown) => confidence = Confidence::Likely,
                None => {}
            }
        }
        found
    }

    fn check(&self, line: &str, meanings: &[Meaning], confidence: Confidence) -> Option<Candidate> {
        let kind = meanings.iter().filter_map(classify::kind_of).max()?;
        let mut about = self.directory.clone();
        let mut ecosystems = BTreeSet::new();
        for meaning in meanings {
            match meaning {
                Meaning::Moves(path) => about = about.join(path)?,
                Meaning::Judges { ecosystem, directory, .. } => {
                    about = about.join(directory.as_deref().unwrap_or_default())?;
                    ecosystems.insert(*ecosystem);
                }
                Meaning::Runs { runner, targets, directory } => {
                    about = about.join(directory.as_deref().unwrap_or_default())?;
                    ecosystems.extend(self.ecosystems(*runner, targets, &about));
                }
                Meaning::Prepares | Meaning::Publishes | Meaning::Unknown => {}
            }
        }
        Some(Candidate {
            kind,
            command: line.split_whitespace().collect::<Vec<_>>().join(" "),
            directory: self.directory.clone(),
            about,
            ecosystems,
            source: Source::Workflow,
            confidence,
            file: self.file.path.to_owned(),
        })
    }

    /// What targets run is in another file.
    fn ecosystems(
        &self,
        runner: Runner,
        names: &[String],
        about: &Directory,
    ) -> BTreeSet<Ecosystem> {
        let targets = match runner {
            Runner::Package => return BTreeSet::from([Ecosystem::JavaScript]),
            Runner::Make => makefile::MAKE.targets(self.survey, about),
            Runner::Just => justfile::JUST.targets(self.survey, about),
        };
        targets.map_or(BTreeSet::new(), |targets| targets.ecosystems(names))
    }
}
