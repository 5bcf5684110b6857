//! Diagnostics of rustc, clippy and cargo as text.
//!
//! ```text
//! error[E0308]: mismatched types
//!  --> src/bad.rs:1:21
//!   |
//! 1 | pub fn f() -> i32 { "x" }
//!   |               ---   ^^^ expected `i32`, found `&str`
//! ```

use super::messages::{expected_and_found, is_summary};
use crate::{
    finding::{Finding, Kind, Tool},
    located::{self, Located},
    location::{Location, Workspace},
    output::{Gathered, lines},
    report::Report,
};

pub(crate) fn speaks(text: &str) -> bool {
    let block = (text.contains("error") || text.contains("warning")) && text.contains("--> ");
    block
        || ["   Compiling ", "    Checking ", "error: could not compile `", "error[E"]
            .iter()
            .any(|sign| text.contains(sign))
        || text.contains(".rs:") && (text.contains(": error") || text.contains(": warning"))
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let mut reader = Reader { workspace, report: Report::new(), open: None };
    for line in lines(text) {
        reader.line(line);
    }
    reader.finish();
    reader.report
}

struct Reader<'a> {
    workspace: &'a Workspace,
    report: Report,
    open: Option<Block>,
}

/// A diagnostic that is being printed.
struct Block {
    finding: Finding,
    rendered: Gathered,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        if let Some((kind, rule, message)) = head(line) {
            self.finish();
            if !is_summary(message) {
                let mut rendered = Gathered::default();
                rendered.line(line);
                let finding = Finding::new(kind, Tool::Cargo, message).rule(rule);
                self.open = Some(Block { finding, rendered });
            }
            return;
        }
        if let Some(program) = line.strip_prefix("  process didn't exit successfully: `") {
            self.finish();
            return self.died(program);
        }
        if self.short(line) {
            return self.finish();
        }
        let Some(block) = &mut self.open else { return };
        if line.is_empty() {
            return self.finish();
        }
        block.rendered.line(line);
        block.line(line, self.workspace);
    }

    /// `src/lib.rs:6:41: warning: unused`, as `--message-format short` prints it.
    fn short(&mut self, line: &str) -> bool {
        let Some(located) = Located::new(line).filter(|located| located.has_extension(&["rs"]))
        else {
            return false;
        };
        let Some((kind, rule, message)) = head(located.rest) else { return false };
        let finding =
            Finding::new(kind, Tool::Rustc, message).rule(rule).at(located.place(self.workspace));
        self.report.find(finding);
        true
    }

    /// A program of tests, or a build script, that ended before it could say why.
    fn died(&mut self, program: &str) {
        let (program, how) = program.split_once("` ").unwrap_or((program, ""));
        let name = program.rsplit('/').next().unwrap_or_default();
        let name = name.split_once('-').map_or(name, |(name, _)| name);
        let message = format!("`{name}` ended {how}");
        self.report.find(Finding::new(Kind::Error, Tool::Cargo, &message));
    }

    fn finish(&mut self) {
        if let Some(Block { finding, rendered }) = self.open.take() {
            self.report.find(finding.details(rendered.as_str()));
        }
    }
}

impl Block {
    fn line(&mut self, line: &str, workspace: &Workspace) {
        let bare = line.trim_start();
        let finding = &mut self.finding;
        if let Some(place) = bare.strip_prefix("--> ") {
            // The first is where it is; others belong to notes.
            if finding.place == Location::Unsaid {
                finding.place = located::place(place, workspace);
                // Cargo has places only in manifests.
                if finding.place.file().is_none_or(|file| !file.as_str().ends_with("Cargo.toml"))
                    && finding.tool == Tool::Cargo
                {
                    finding.tool = Tool::Rustc;
                }
            }
        } else if let Some(rule) = lint(bare).filter(|_| finding.rule.is_none()) {
            if rule.starts_with("clippy::") {
                finding.tool = Tool::Clippy;
            }
            finding.rule = Some(rule.as_str().into());
        } else if let Some((_, label)) = bare.split_once('^').filter(|_| finding.expected.is_none())
        {
            let label = label.trim_start_matches(['^', '-', '|', ' ']);
            let (expected, found) = expected_and_found(label);
            *finding = finding.clone().expected(expected).actual(found);
        }
    }
}

/// Kind, rule and message of `error[E0308]: mismatched types`.
fn head(line: &str) -> Option<(Kind, &str, &str)> {
    let (kind, rest) = match line.strip_prefix("error") {
        Some(rest) => (Kind::Error, rest),
        None => (Kind::Warning, line.strip_prefix("warning")?),
    };
    let (rule, message) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once("]: ")?,
        None => ("", rest.strip_prefix(": ")?),
    };
    Some((kind, rule, message))
}

/// The lint in ``= note: `#[warn(unused_variables)]` on by default``, or in `= help: for further information visit ...#len_zero`.
fn lint(line: &str) -> Option<String> {
    if let Some((_, rest)) = line.split_once("`#[") {
        let (_, rest) = rest.split_once('(')?;
        return rest.split_once(")]").map(|(lint, _)| lint.to_owned());
    }
    if let Some(rest) = line.strip_prefix("= note: requested on the command line with `") {
        let flag = rest.split_once('`')?.0;
        return flag
            .split([' ', '-'])
            .rfind(|part| part.contains("::"))
            .map(|lint| lint.replace('-', "_"));
    }
    let (_, anchor) = line.split_once("rust-clippy/")?.1.split_once('#')?;
    Some(format!("clippy::{}", anchor.trim()))
}
