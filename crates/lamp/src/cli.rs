//! What a person can type, and the page that explains it.
//!
//! The commands' own doc comments are their help. Clap knows only one heading
//! for all commands, so the groups are laid out here, from the same texts.

use std::fmt::Write as _;

use clap::{CommandFactory, FromArgMatches, builder::styling::Styles};
use terminal::colors::ColorChoice;

use crate::commands::{
    agent::Agent,
    audit::Audit,
    backup::Backup,
    completions::Completions,
    config::Config,
    demo::Demo,
    doctor::Doctor,
    egress::Egress,
    image::Image,
    policy::Policy,
    pr::Pr,
    restore::Restore,
    sandbox::Sandbox,
    secret::Secret,
    task::{self, Tasks},
    up::Up,
    version::Version,
};

/// Lamplighter: assign work at dusk, review a proven pull request at dawn.
#[derive(Debug, clap::Parser)]
#[command(
    name = "lamp",
    bin_name = "lamp",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    styles = Styles::styled()
)]
pub(crate) struct Cli {
    /// When to use colour: `auto`, `always` or `never`; `NO_COLOR` is respected
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true,
        display_order = 900
    )]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Tasks(Tasks),
    Pr(Pr),
    Demo(Demo),
    Doctor(Doctor),
    Config(Config),
    Policy(Policy),
    Up(Up),
    Sandbox(Sandbox),
    Image(Image),
    Agent(Agent),
    Secret(Secret),
    Egress(Egress),
    Audit(Audit),
    Backup(Backup),
    Restore(Restore),
    Version(Version),
    Completions(Completions),
}

/// The headings of `lamp --help`, and the commands under each.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Tasks", task::NAMES),
    ("What a task made", task::MADE),
    ("Set up", &["demo", "doctor", "config", "policy", "up"]),
    ("Sandboxes", &["sandbox", "image", "agent", "secret", "egress"]),
    ("Look after the data", &["audit", "backup", "restore"]),
    ("About this program", &["version", "completions", "help"]),
];

/// Where to begin, and what holds for every command.
const ENDING: &str = "\
Begin with `lamp demo`, or with `lamp up` and, in a git repository, `lamp run \"fix the failing test\"`.
Exit codes: 0 done, 1 refused or failed, 2 wrong usage; those that run a command end as it does, and
those that watch a task say how it stands: 3 it waits for a person, 4 paused, 5 cancelled.";

/// The whole command line, with its page of help.
pub(crate) fn command() -> clap::Command {
    let command = Cli::command();
    let template = help_template(&command);
    command.help_template(template)
}

pub(crate) fn parse(arguments: Vec<std::ffi::OsString>) -> Result<Cli, clap::Error> {
    Cli::from_arg_matches(&command().try_get_matches_from(arguments)?)
}

fn help_template(command: &clap::Command) -> String {
    let header = command.get_styles().get_header();
    let heading = |text: &str| format!("{header}{text}:{header:#}\n");
    let literal = command.get_styles().get_literal();

    let names = GROUPS.iter().flat_map(|(_, names)| *names);
    let width = names.map(|name| name.len()).max().unwrap_or_default();
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups.push_str(&heading(title));
        for name in *names {
            let about = about(command, name);
            // Writing to a string cannot fail.
            let _ = writeln!(groups, "  {literal}{name:<width$}{literal:#}  {about}");
        }
        groups.push('\n');
    }
    let options = heading("Options");
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{options}{{options}}\n\n{ENDING}\n"
    )
}

fn about(command: &clap::Command, name: &str) -> String {
    match command.find_subcommand(name).and_then(clap::Command::get_about) {
        Some(about) => about.to_string(),
        // Clap adds `help` by itself, later than this.
        None => "Explain a command: `lamp help doctor`".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn clap_finds_no_mistake() {
        command().debug_assert();
    }

    #[test]
    fn every_command_stands_in_exactly_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let once: BTreeSet<&str> = grouped.iter().copied().collect();
        assert_eq!(grouped.len(), once.len(), "a command stands in two groups");
        let command = command();
        let mut all: BTreeSet<&str> = command
            .get_subcommands()
            .filter(|it| !it.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        all.insert("help");
        assert_eq!(once, all);
    }
    /// The pages of a command and of all below it, in order.
    fn pages(command: &mut clap::Command, pages: &mut Vec<String>) {
        pages.push(command.render_long_help().to_string());
        for below in command.get_subcommands_mut() {
            // Clap's own `help` says the same everywhere.
            if !below.is_hide_set() && below.get_name() != "help" {
                self::pages(below, pages);
            }
        }
    }

    /// A page for each command of the tree, so that none can be forgotten; those below one are in one file with it.
    #[test]
    fn every_command_explains_itself() {
        let mut command = command().term_width(100);
        command.build();
        let mut expected = BTreeSet::new();
        for top in command.get_subcommands_mut() {
            if top.is_hide_set() || top.get_name() == "help" {
                continue;
            }
            let name = format!("help_{}", top.get_name());
            let mut all = Vec::new();
            pages(top, &mut all);
            insta::assert_snapshot!(name.clone(), all.join("\n==========\n"));
            expected.insert(format!("lamp__cli__tests__{name}.snap"));
        }
        // Of a command that is gone no page is left.
        let kept = fs_err::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/snapshots")).unwrap();
        let names = kept.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_snapshot =
            |name: &str| std::path::Path::new(name).extension().is_some_and(|it| it == "snap");
        let kept: BTreeSet<String> =
            names.filter(|name| name.contains("__help_") && is_snapshot(name)).collect();
        assert_eq!(kept, expected);
    }
}
