//! What nobody else understood, when a check failed: lines with places in the workspace, annotations, a Python traceback, or the last lines.

use crate::{
    compiler::head,
    finding::{Finding, Kind, Tool},
    located::{Located, leading_number},
    location::{Location, Workspace},
    output::{Gathered, lines},
    report::Report,
};

/// Findings that are taken from a text that nobody knows. More would be noise.
const MOST: usize = 200;
/// Lines from the end, when there is nothing better.
const LAST_LINES: usize = 60;

pub(crate) fn read(text: &str, tool: &Tool, workspace: &Workspace) -> Report {
    let mut report = Report::new();
    let mut traceback: Option<(Location, Gathered)> = None;
    for line in lines(text) {
        if report.findings().len() >= MOST {
            break;
        }
        if let Some(finding) = annotation(line, tool, workspace) {
            report.find(finding);
        } else if line.starts_with("Traceback (most recent call last):") {
            traceback = Some((Location::Unsaid, Gathered::default()));
        } else if let Some((place, printed)) = &mut traceback {
            printed.line(line);
            if let Some(at) = quoted(line, workspace) {
                *place = at;
            } else if !line.starts_with(' ') {
                // The first line that is not indented is what was raised.
                let finding = Finding::new(Kind::Error, tool.clone(), line)
                    .at(place.clone())
                    .details(printed.as_str());
                report.find(finding);
                traceback = None;
            }
        } else if let Some(located) = Located::new(line) {
            let place = located.place(workspace);
            if place.file().is_some() {
                let (kind, message) = head(located.rest).unwrap_or((Kind::Error, located.rest));
                report.find(Finding::new(kind, tool.clone(), message).at(place));
            }
        }
    }
    report
}

/// The end of what was printed, as one finding.
pub(crate) fn last_lines(text: &str, tool: &Tool) -> Option<Finding> {
    let mut last: Vec<&str> = text
        .lines()
        .rev()
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .take(LAST_LINES)
        .collect();
    last.reverse();
    let telling = |line: &&&str| {
        let line = crate::output::start(line, 500).to_ascii_lowercase();
        ["error", "fail", "fatal", "cannot", "not found", "denied"]
            .iter()
            .any(|word| line.contains(word))
    };
    // A line that is drawn, or a word of a list, tells nobody anything.
    let says_something = |line: &&&str| {
        let words = line.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic));
        words.count() > 1 && !line.ends_with(',')
    };
    let telling = |line: &&&str| telling(line) && says_something(line);
    let told = last.iter().rev().find(telling).or_else(|| last.iter().rev().find(says_something));
    let message = told.or(last.last())?;
    let mut details = Gathered::default();
    for line in &last {
        details.line(crate::output::start(line, 500));
    }
    Some(
        Finding::new(Kind::Error, tool.clone(), message.trim_matches('='))
            .details(details.as_str()),
    )
}

/// `::error file=a.py,line=3,col=8,title=F401::message`, which tools print for the pages of a code host.
fn annotation(line: &str, tool: &Tool, workspace: &Workspace) -> Option<Finding> {
    let rest = line.trim_start().strip_prefix("::")?;
    let (command, message) = rest.split_once("::")?;
    let (word, properties) = command.split_once(' ').unwrap_or((command, ""));
    let kind = match word {
        "error" => Kind::Error,
        "warning" => Kind::Warning,
        "notice" => Kind::Note,
        _ => return None,
    };
    let property = |key: &str| {
        let found = properties
            .split(',')
            .filter_map(|property| property.trim().split_once('='))
            .find(|(name, _)| *name == key);
        found.map_or("", |(_, value)| value)
    };
    let place = workspace.place(
        property("file"),
        property("line").parse().ok(),
        property("col").parse().ok(),
    );
    let message = message.replace("%0A", "\n").replace("%0D", "").replace("%25", "%");
    // `ruff (F401)` is a rule of whom we know; the place is said twice.
    let title = property("title");
    let rule = title
        .strip_suffix(')')
        .and_then(|title| title.rsplit_once(" ("))
        .map_or(title, |(_, rule)| rule);
    let said = Located::new(&message).map_or(message.as_str(), |located| located.rest);
    let said = said.strip_prefix(rule).map_or(said, |said| said.trim_start_matches([':', ' ']));
    Some(Finding::new(kind, tool.clone(), said).rule(rule).at(place))
}

/// The place in `  File "a.py", line 3, in f`, if it is in the workspace.
fn quoted(line: &str, workspace: &Workspace) -> Option<Location> {
    let (path, rest) = line.trim_start().strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, _) = leading_number(rest)?;
    let place = workspace.place(path, Some(number), None);
    place.file().is_some().then_some(place)
}
