//! Workflow files of CI: the steps that judge code.
//!
//! What CI runs is the best word about a repository's checks. But much of a workflow cannot be done here: expressions, machines that are
//! not Linux, other toolchains, releases. Of a matrix the leg is read that an ordinary Linux machine would be. What cannot be told is
//! passed over instead of guessed at, and what looks like a check and is passed over is told with the reason.

mod actions;
mod condition;
mod matrix;

use self::{
    condition::{Truth, truth},
    matrix::Leg,
};
use super::{
    candidate::{Candidate, LeftOut, Place, Source},
    check::{Confidence, Directory},
    classify::{self, Ecosystem, Meaning},
    shell,
    tree::{Found, Survey},
    units::Reader,
    yaml::{self, Node},
};

const STEPS_LIMIT: usize = 500;

pub(super) fn read(survey: &Survey) -> (Vec<Candidate>, Vec<LeftOut>) {
    let mut seen = Seen::default();
    for file in survey.workflows() {
        if let Some(root) = yaml::parse(file.text) {
            workflow(survey, &file, &root, &mut seen);
        }
    }
    (seen.found, seen.left_out)
}

#[derive(Default)]
struct Seen {
    found: Vec<Candidate>,
    left_out: Vec<LeftOut>,
}

fn workflow(survey: &Survey, file: &Found<'_>, root: &Node, seen: &mut Seen) {
    if !root.get("on").is_some_and(judges_changes) {
        return;
    }
    let jobs = root.get("jobs").map_or(&[][..], Node::entries);
    let mut steps_left = STEPS_LIMIT;
    for (_, job) in jobs {
        let leg = Leg::of(job).with_env(root).with_env(job);
        let against = against_job(job, &leg);
        let toolchain = actions::other_toolchain(job, &leg);
        if actions::only_builds_for_analysis(job) {
            continue;
        }
        let own = job.get("uses").is_some().then_some(job);
        for step in own.into_iter().chain(job.get("steps").map_or(&[][..], Node::items)) {
            let Some(left) = steps_left.checked_sub(1) else { return };
            steps_left = left;
            let leg = leg.clone().with_env(step);
            let Some((script, line)) = script(step, &leg) else { continue };
            let Some(directory) = directory(&[step], &[job, root], &leg) else { continue };
            // What CI brings in beside the repository is not ours to check.
            if !survey.may_have(&directory) {
                continue;
            }
            let reader = Script { survey, file, directory, toolchain: toolchain.as_deref(), line };
            match against.clone().or_else(|| against_step(step, &leg)) {
                None => reader.checks(&script, seen),
                Some(reason) => reader.left_out(&script, &reason, seen),
            }
        }
    }
}

/// What a step runs, with the line where it stands.
fn script(step: &Node, leg: &Leg) -> Option<(String, usize)> {
    match step.get("run") {
        Some(run) => Some((leg.filled(run.text()?), run.line())),
        None => actions::command(step, leg),
    }
}

/// Started by changes, and not only by tags, clocks or people.
fn judges_changes(on: &Node) -> bool {
    let is_change =
        |name: &str| matches!(name, "pull_request" | "push" | "merge_group" | "workflow_call");
    match on {
        Node::Text(name, _) => is_change(name),
        Node::List(names) => names.iter().filter_map(Node::text).any(is_change),
        Node::Section(entries) => entries.iter().any(|(name, with)| {
            let only_tags = with.get("tags").is_some() && with.get("branches").is_none();
            is_change(name) && !only_tags
        }),
        Node::Unread => false,
    }
}

/// Why a job is not for us, if it is not: another system, or a condition.
fn against_job(job: &Node, leg: &Leg) -> Option<String> {
    let machine = job.get("runs-on").and_then(Node::text).map(|text| leg.filled(text));
    let machine = machine.unwrap_or_default().to_lowercase();
    let elsewhere = ["windows", "macos", "mac-"].iter().any(|system| machine.starts_with(system));
    if elsewhere {
        return Some(format!("CI runs it on `{machine}`"));
    }
    against_condition(job, leg)
}

fn against_step(step: &Node, leg: &Leg) -> Option<String> {
    let shell = step
        .get("shell")
        .and_then(Node::text)
        .map_or_else(|| "bash".to_owned(), |text| leg.filled(text));
    let program = shell.split(' ').next().unwrap_or_default();
    if !matches!(program, "bash" | "sh") {
        return Some(format!("CI runs it with `{program}`"));
    }
    let tolerated = step.get("continue-on-error").and_then(Node::text);
    if tolerated.is_some_and(|it| truth(it, leg) == Truth::Yes) {
        return Some("CI does not mind when it fails".to_owned());
    }
    against_condition(step, leg)
}

fn against_condition(node: &Node, leg: &Leg) -> Option<String> {
    let condition = node.get("if")?;
    let text = condition.text().unwrap_or("unknown");
    let short: String =
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect();
    match truth(text, leg) {
        Truth::Yes => None,
        Truth::No => Some(format!("its condition does not hold here: `{short}`")),
        Truth::Unknown => Some(format!("its condition cannot be told here: `{short}`")),
    }
}

/// Where a step is run: as it says itself, or as its job or the whole file has it.
fn directory(steps: &[&Node], defaults: &[&Node], leg: &Leg) -> Option<Directory> {
    let own = steps.iter().find_map(|step| step.get("working-directory"));
    let inherited = || {
        defaults.iter().find_map(|node| node.get("defaults")?.get("run")?.get("working-directory"))
    };
    match own.or_else(inherited) {
        None => Some(Directory::default()),
        Some(path) => Directory::parse(&leg.filled(path.text()?)),
    }
}

/// One `run:`, which may have several lines.
struct Script<'a> {
    survey: &'a Survey,
    file: &'a Found<'a>,
    directory: Directory,
    /// Another than the one that everybody has.
    toolchain: Option<&'a str>,
    line: usize,
}

impl Script<'_> {
    fn checks(mut self, script: &str, seen: &mut Seen) {
        let Some(lines) = shell::lines(script) else {
            return self.left_out(script, "it is a part of a longer script", seen);
        };
        let mut found = Vec::new();
        let mut confidence = Confidence::Certain;
        for line in lines {
            let Some(reading) = (Reader { survey: self.survey }).line(&line, &self.directory)
            else {
                // It may have made what the next line needs.
                confidence = Confidence::Likely;
                continue;
            };
            if reading.meanings.contains(&Meaning::Publishes) {
                return self.left_out(script, "the same step publishes something", seen);
            }
            if let [Meaning::Moves(path)] = reading.meanings.as_slice() {
                let there = self.directory.join(path).filter(|it| self.survey.may_have(it));
                let Some(directory) = there else { break };
                self.directory = directory;
                continue;
            }
            for meaning in &reading.meanings {
                if let Meaning::Elsewhere(reason) = meaning {
                    self.leave(&line, reason, seen);
                }
            }
            if reading.units.is_empty() && reading.meanings.contains(&Meaning::Unknown) {
                confidence = Confidence::Likely;
            }
            for unit in reading.units {
                let is_rust = unit.does.ecosystems().contains(&Ecosystem::Rust);
                if let Some(toolchain) = self.toolchain.filter(|_| is_rust) {
                    let reason = format!("CI runs it with the toolchain `{toolchain}`");
                    self.leave(&unit.command, &reason, seen);
                    continue;
                }
                let place = Place { file: self.file.path, line: self.line };
                found.push(Candidate::written(
                    unit,
                    Source::Workflow,
                    confidence,
                    place,
                    "CI runs it",
                ));
            }
        }
        seen.found.extend(found);
    }

    /// What of a script looks like a check, with the reason why it is none here.
    fn left_out(&self, script: &str, reason: &str, seen: &mut Seen) {
        for line in script.lines().map(str::trim).take(50) {
            let commands = shell::commands(line).unwrap_or_default();
            let judges = |words: &Vec<String>| match classify::meaning(words) {
                meaning @ (Meaning::Judges { .. } | Meaning::Runs { .. }) => {
                    classify::kind_of(&meaning).is_some()
                }
                Meaning::Elsewhere(_) => true,
                Meaning::Moves(_)
                | Meaning::Script { .. }
                | Meaning::Installs
                | Meaning::Prepares
                | Meaning::Publishes
                | Meaning::Unknown => false,
            };
            if commands.iter().any(judges) {
                self.leave(line, reason, seen);
            }
        }
    }

    fn leave(&self, command: &str, reason: &str, seen: &mut Seen) {
        if seen.left_out.len() < STEPS_LIMIT {
            let place = Place { file: self.file.path, line: self.line }.words();
            seen.left_out.push(LeftOut {
                command: command.to_owned(),
                file: self.file.path.to_owned(),
                reason: format!("{reason} ({place})"),
            });
        }
    }
}
