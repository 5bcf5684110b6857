//! The Test Anything Protocol, as node, vitest, mocha and many others write it.
//!
//! ```text
//! # Subtest: suite
//!     not ok 1 - deep equal
//!       ---
//!       error: 'not equal'
//!       expected: 2
//!       ...
//! not ok 1 - suite
//! ```
//!
//! A test that has tests within it is a group: it is not counted, unless it failed and none of them did. tape has no groups, but headings
//! (`# name`) above its assertions. What has the same name in the same place is told apart by its number: of many assertions with one
//! message, each is compared with itself.

use std::time::Duration;

use crate::{
    finding::{Finding, Kind, Tool},
    javascript::thrown::{self, Thrown},
    located,
    location::{Location, Workspace},
    naming::Reach,
    output::{Gathered, lines},
    report::Report,
    test::{Outcome, TestCase, Times},
};

/// Groups within groups that are followed.
const DEEPEST: usize = 64;

pub(crate) fn speaks(text: &str) -> bool {
    text.contains("TAP version 1")
        || lines(text).any(|line| line.starts_with("not ok ") || line.starts_with("ok 1 "))
            && text.contains("1..")
}

pub(crate) fn read(text: &str, workspace: &Workspace) -> Report {
    let tool = if text.contains("# duration_ms ") { Tool::NodeTest } else { Tool::Tap };
    let mut reader = Reader {
        workspace,
        tool,
        report: Report::new(),
        groups: Vec::new(),
        heading: String::new(),
        deepest: 0,
        failed: Vec::new(),
        times: Times::default(),
        plan: Plan::default(),
        open: None,
    };
    for line in lines(text) {
        reader.line(line);
    }
    reader.close();
    let tool = reader.tool.clone();
    reader.report.heard(tool);
    reader.report.reached(reader.plan.reach());
    reader.report
}

struct Reader<'a> {
    workspace: &'a Workspace,
    tool: Tool,
    report: Report,
    /// Groups that were announced, with their indentation.
    groups: Vec<(usize, String)>,
    /// What tape says above its assertions.
    heading: String,
    /// The indentation of the last test: one with less, and the name of an open group, ends that group.
    deepest: usize,
    /// Indentations of failures whose groups have not ended.
    failed: Vec<usize>,
    /// How often each name was there.
    times: Times,
    plan: Plan,
    open: Option<Open>,
}

/// How many tests were announced, and how many there were, of those that are in no group.
#[derive(Default)]
struct Plan {
    documents: u64,
    plans: u64,
    announced: u64,
    seen: u64,
    has_bailed_out: bool,
}

impl Plan {
    /// A program that dies says no plan, or does not keep it.
    fn reach(&self) -> Reach {
        let is_kept = self.plans >= self.documents.max(1) && self.seen >= self.announced;
        if is_kept && !self.has_bailed_out { Reach::Whole } else { Reach::Cut }
    }
}

/// A test that was named, with what is said about it.
struct Open {
    test: TestCase,
    /// Whether it is a file that failed, and no test.
    is_file: bool,
    indent: usize,
    in_block: bool,
    block: Gathered,
}

impl Reader<'_> {
    fn line(&mut self, line: &str) {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if let Some(open) = &mut self.open
            && (open.in_block || bare == "---")
        {
            // A block that nobody closes ends at the next test.
            let next = indent <= open.indent && outcome(bare).is_some();
            open.in_block = !next && bare != "...";
            if !next {
                return open.block.line(without(line, open.indent));
            }
        }
        if indent == 0 {
            self.plan(bare);
        }
        if let Some(group) = bare.strip_prefix("# Subtest: ") {
            self.close();
            self.groups.retain(|(outer, _)| *outer < indent);
            self.group(indent, group);
        } else if let Some((outcome, rest)) = outcome(bare) {
            self.close();
            self.test(indent, outcome, rest);
        } else if let Some(heading) = heading(bare) {
            self.close();
            heading.clone_into(&mut self.heading);
        } else if bare == "}" {
            self.close();
            self.groups.retain(|(outer, _)| *outer < indent);
        } else if let Some(open) =
            self.open.as_mut().filter(|open| indent > open.indent && !bare.starts_with("1.."))
        {
            // mocha says why without marks around it.
            open.block.line(without(line, open.indent));
        }
    }

    fn plan(&mut self, line: &str) {
        if let Some(count) = line.strip_prefix("1..").and_then(located::leading_number) {
            self.plan.plans += 1;
            self.plan.announced = self.plan.announced.saturating_add(u64::from(count.0));
            // What follows are numbers, and no headings.
            self.heading.clear();
        } else if line.starts_with("TAP version 1") {
            self.plan.documents += 1;
            self.heading.clear();
        } else if line.starts_with("Bail out!") {
            self.plan.has_bailed_out = true;
        } else if outcome(line).is_some() {
            self.plan.seen += 1;
        }
    }

    fn group(&mut self, indent: usize, title: &str) {
        if self.groups.len() < DEEPEST {
            self.groups.push((indent, title.trim().to_owned()));
        }
    }

    fn test(&mut self, indent: usize, outcome: Outcome, rest: &str) {
        let dashed = rest.starts_with("- ");
        let rest = rest.strip_prefix("- ").unwrap_or(rest);
        let (title, opens) = match rest.strip_suffix(" {") {
            Some(title) => (title, true),
            None => (rest, false),
        };
        let (title, directive) = directive(title);
        let had_children = self.deepest > indent;
        self.deepest = indent;
        // Announced groups are named as their last test is: that is their own line, not one within them.
        self.groups.retain(|(outer, group)| *outer < indent || *outer == indent && group != title);
        if opens {
            self.groups.retain(|(outer, _)| *outer < indent);
            return self.group(indent, title);
        }
        let failed_within = self.failed.iter().any(|inner| *inner > indent);
        self.failed.retain(|inner| *inner <= indent);
        if outcome.is_failure() && directive.is_none() && self.failed.last() != Some(&indent) {
            self.failed.push(indent);
        }
        if had_children && (failed_within || !outcome.is_failure() || directive.is_some()) {
            return;
        }
        self.groups.retain(|(outer, _)| *outer < indent);
        let is_path = !title.contains(char::is_whitespace) && located::extension(title).is_some();
        let is_file = indent == 0 && is_path && outcome.is_failure() && directive.is_none();
        let groups = self.groups.iter().map(|(_, group)| group.as_str());
        // Who writes a dash has groups, and only remarks look like headings.
        let heading = Some(self.heading.as_str()).filter(|it| !it.is_empty() && !dashed);
        let title = if title.is_empty() { "assertion" } else { title };
        let name = self.times.numbered(&thrown::name("", groups.chain(heading), title));
        let (outcome, reason) = match directive {
            Some(reason) => (Outcome::Skipped, reason),
            None => (outcome, ""),
        };
        let test = TestCase::new(name, outcome).message(reason);
        let block = Gathered::default();
        self.open = Some(Open { test, is_file, indent, in_block: false, block });
    }

    /// A file that failed, and none of its tests did: it broke off before, between or after them.
    fn broken(&mut self, file: &TestCase, block: &Block) {
        let mut finding = block.thrown.finding(&self.tool, Kind::Error);
        if finding.place == Location::Unsaid {
            finding.place = self.workspace.place(&file.name.name, None, None);
        }
        if block.thrown.message.trim().is_empty() {
            let message = format!("`{}` failed outside of its tests", file.name);
            finding.message = message.as_str().into();
        }
        self.report.find(finding);
        self.report.reached(Reach::Cut);
    }

    fn close(&mut self) {
        let Some(Open { mut test, block, is_file, .. }) = self.open.take() else { return };
        let block = Block::new(block.as_str(), self.workspace);
        if is_file {
            return self.broken(&test, &block);
        }
        test.duration = block.took;
        if !test.outcome.is_failure() {
            return self.report.ran(test);
        }
        let (test, finding) = block.failed(&self.tool, test);
        self.report.ran(test);
        self.report.find(finding);
    }
}

/// The line without so much of its indentation, as far as it has it.
fn without(line: &str, indent: usize) -> &str {
    let own = line.len() - line.trim_start().len();
    line.get(indent.min(own)..).unwrap_or(line)
}

/// The name in `# name`, which tape prints above the assertions of a test. Others print numbers, times and remarks that way.
fn heading(line: &str) -> Option<&str> {
    let heading = line.strip_prefix("# ")?.trim();
    let heading =
        ["SKIP ", "TODO "].iter().find_map(|it| heading.strip_prefix(it)).unwrap_or(heading);
    let (word, rest) = heading.split_once(' ').unwrap_or((heading, ""));
    let counts =
        ["tests", "pass", "fail", "ok", "suites", "cancelled", "skipped", "todo", "failed"];
    let is_count = counts.contains(&word)
        && (rest.is_empty() || located::leading_number(rest.trim()).is_some());
    let is_remark = heading.starts_with('{')
        || ["time=", "duration_ms", "skip:", "todo:"].iter().any(|it| heading.starts_with(it));
    (!is_count && !is_remark).then_some(heading)
}

fn outcome(line: &str) -> Option<(Outcome, &str)> {
    let (outcome, rest) = match line.strip_prefix("not ok ") {
        Some(rest) => (Outcome::Failed, rest),
        None => (Outcome::Passed, line.strip_prefix("ok ")?),
    };
    let (_, rest) = located::leading_number(rest)?;
    Some((outcome, rest.trim_start()))
}

/// The title, and why it was skipped: `later # SKIP not today`.
fn directive(title: &str) -> (&str, Option<&str>) {
    let Some((bare, comment)) = title.rsplit_once(" # ") else { return (title.trim(), None) };
    let (word, reason) = comment.split_once(' ').unwrap_or((comment, ""));
    if word.eq_ignore_ascii_case("skip") || word.eq_ignore_ascii_case("todo") {
        return (bare.trim(), Some(reason.trim()));
    }
    (if comment.starts_with("time=") { bare.trim() } else { title.trim() }, None)
}

/// What is said about a test between `---` and `...`: a little of YAML, of which only the first level is looked at.
struct Block {
    thrown: Thrown,
    took: Option<Duration>,
}

impl Block {
    fn new(block: &str, workspace: &Workspace) -> Self {
        let mut parsed = Self { thrown: Thrown::new(&message_first(block), workspace), took: None };
        let mut place = Location::Unsaid;
        let mut inside = String::new();
        let mut sides = [String::new(), String::new()];
        for line in lines(block).filter(|line| !["---", "..."].contains(&line.trim())) {
            let bare = line.trim();
            let (key, value) = bare.split_once(':').unwrap_or((bare, ""));
            let value = unquoted(value.trim());
            match (key, value) {
                ("duration_ms", value) => {
                    let took = value.parse::<f64>().ok();
                    parsed.took =
                        took.and_then(|took| Duration::try_from_secs_f64(took / 1000.0).ok());
                }
                ("location" | "at", value) if !value.is_empty() => {
                    place = located::place(value, workspace);
                }
                ("fileName" | "file", value) if place == Location::Unsaid => {
                    place = workspace.place(value, None, None);
                }
                ("error" | "message", value) if !value.is_empty() && !value.starts_with('|') => {
                    value.trim_start_matches('"').clone_into(&mut parsed.thrown.message);
                }
                ("expected", value) if is_whole(value) => {
                    value.clone_into(&mut parsed.thrown.expected);
                }
                ("actual", value) if is_whole(value) => value.clone_into(&mut parsed.thrown.actual),
                ("expected" | "actual" | "operator" | "stack" | "error" | "code" | "name", _) => {
                    key.clone_into(&mut inside);
                }
                _ => {}
            }
            let side = match inside.as_str() {
                "expected" if key != "expected" => sides.first_mut(),
                "actual" if key != "actual" => sides.last_mut(),
                _ => None,
            };
            if let Some(side) = side.filter(|side| side.len() < crate::text::MESSAGE_BYTES) {
                side.push_str(bare);
                side.push('\n');
            }
        }
        let [expected, actual] = sides;
        if parsed.thrown.expected.is_empty() {
            parsed.thrown.expected = expected;
        }
        if parsed.thrown.actual.is_empty() {
            parsed.thrown.actual = actual;
        }
        // Where it was thrown is nearer than where the test begins.
        if parsed.thrown.place == Location::Unsaid {
            parsed.thrown.place = place;
        }
        parsed
    }

    fn failed(&self, tool: &Tool, test: TestCase) -> (TestCase, Finding) {
        let (test, finding) = self.thrown.failed(tool, test);
        (test, Finding { kind: Kind::Failure, ..finding })
    }
}

/// The lines of `error: |-` stand first, as the message of what was thrown; the stack follows.
fn message_first(block: &str) -> String {
    let mut message = Gathered::default();
    let mut rest = Gathered::default();
    let mut inside: Option<usize> = None;
    for line in lines(block) {
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        if inside.is_some_and(|outer| indent <= outer && !bare.is_empty()) {
            inside = None;
        }
        if bare == "---" || bare == "..." {
            continue;
        }
        if inside.is_some() {
            message.line(bare);
        } else if bare.starts_with("error: |") || bare.starts_with("message: |") {
            inside = Some(indent);
        } else {
            rest.line(line);
        }
    }
    format!("{}\n\n{}", message.as_str(), rest.as_str())
}

/// Whether a value ends on its line: it is there, and its quote is closed.
fn is_whole(value: &str) -> bool {
    !value.is_empty() && !value.starts_with(['"', '|'])
}

fn unquoted(value: &str) -> &str {
    let quoted =
        |quote: char| value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
    quoted('\'').or_else(|| quoted('"')).unwrap_or(value)
}
