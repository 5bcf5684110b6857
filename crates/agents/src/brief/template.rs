//! The templates that prompts are made of: ours, or an operator's.
//!
//! They are read once, and every one is tried with a rich and with a poor brief before it is used, so that a mistake is found when
//! the server starts and not in the middle of a task. Values are put in as they are and are never read as templates; templates can
//! open no files and include no others.

use std::{collections::BTreeMap, path::Path};

use contracts::agent::{Brief, Mode};
use minijinja::{Environment, ErrorKind, UndefinedBehavior, syntax::SyntaxConfig};
use serde::Serialize;

use super::{Pack, quote::Quotes, words};
use crate::answer::{self, Faults, Kind};

/// Bytes of one template.
const LIMIT: u64 = 256 * 1024;

/// The templates that there are, and ours.
pub(super) const BUILT_IN: [(&str, &str); 6] = [
    ("context.md", include_str!("../../../../docs/reference/prompts/context.md")),
    ("research.md", include_str!("../../../../docs/reference/prompts/research.md")),
    ("plan.md", include_str!("../../../../docs/reference/prompts/plan.md")),
    ("implement.md", include_str!("../../../../docs/reference/prompts/implement.md")),
    ("review.md", include_str!("../../../../docs/reference/prompts/review.md")),
    ("repair.md", include_str!("../../../../docs/reference/prompts/repair.md")),
];

/// What each template may name.
const CONTEXT: &[&str] = &[
    "author",
    "request",
    "guidance",
    "quotes",
    "repositories",
    "base_checks",
    "issues",
    "in_flight",
];
const PHASE: &[&str] = &[
    "context",
    "feedback",
    "dismissed",
    "plan",
    "conditions",
    "mark",
    "schema",
    "question_schema",
    "notes_limit_kib",
];
const REPAIR: &[&str] = &["phase", "faults", "mark", "schema", "question_schema"];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("`{path}` cannot be read: {reason}")]
    Unread { path: String, reason: String },
    #[error(
        "`{path}` is not a prompt: only {} can be written anew; take other files out of this directory",
        names()
    )]
    Unknown { path: String },
    #[error(
        "`{path}`, line {line}: {reason}; mend it, or take the file away to have the built-in one"
    )]
    Wrong { path: String, line: usize, reason: String },
}

fn names() -> String {
    BUILT_IN.map(|(name, _)| format!("`{name}`")).join(", ")
}

/// Templates that were read and tried.
#[derive(Debug, Clone)]
pub struct Templates {
    environment: Environment<'static>,
    /// Where each is from, to tell whose mistake it is.
    origins: BTreeMap<&'static str, String>,
}

#[derive(Serialize)]
struct Phase<'a> {
    context: &'a str,
    feedback: Quotes,
    dismissed: Quotes,
    plan: String,
    conditions: Vec<String>,
    mark: &'a str,
    schema: &'a str,
    question_schema: &'a str,
    notes_limit_kib: usize,
}

#[derive(Serialize)]
struct Repair<'a> {
    phase: &'a str,
    faults: &'a [String],
    mark: &'a str,
    schema: &'a str,
    question_schema: &'a str,
}

impl Templates {
    /// Ours.
    pub fn builtin() -> Result<Self, TemplateError> {
        let sources =
            BUILT_IN.map(|(name, text)| (name, format!("built-in {name}"), text.to_owned()));
        Self::new(sources)
    }

    pub(super) fn new(
        sources: [(&'static str, String, String); BUILT_IN.len()],
    ) -> Result<Self, TemplateError> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Prompts are no HTML.
        environment.set_auto_escape_callback(|_name| minijinja::AutoEscape::None);
        let mut syntax = SyntaxConfig::builder();
        let syntax = syntax.trim_blocks(true).lstrip_blocks(true).build();
        let mut templates = Self { environment, origins: BTreeMap::new() };
        match syntax {
            Ok(syntax) => templates.environment.set_syntax(syntax),
            Err(error) => return Err(templates.wrong("context.md", &error)),
        }
        for (name, origin, text) in sources {
            templates.origins.insert(name, origin);
            templates.add(name, &text)?;
        }
        Ok(templates)
    }

    fn add(&mut self, name: &'static str, text: &str) -> Result<(), TemplateError> {
        let added = self.environment.add_template_owned(name, text.to_owned());
        added.map_err(|error| self.wrong(name, &error))?;
        let template =
            self.environment.get_template(name).map_err(|error| self.wrong(name, &error))?;
        let known = known(name);
        let is_global = |it: &String| self.environment.globals().any(|(global, _)| global == it);
        let mut unknown: Vec<String> = template.undeclared_variables(false).into_iter().collect();
        unknown.retain(|it| !known.contains(&it.as_str()) && !is_global(it));
        unknown.sort_unstable();
        let Some(variable) = unknown.first() else { return Ok(()) };
        let reason = format!("there is no `{variable}` here: there are {}", known.join(", "));
        Err(TemplateError::Wrong { path: self.origin(name), line: line_of(text, variable), reason })
    }

    /// All that an agent is told at the beginning of a run in `mode`.
    pub fn prompt(&self, mode: Mode, brief: &Brief, pack: &Pack) -> Result<String, TemplateError> {
        let context = self.render("context.md", pack)?;
        let (plan, conditions) =
            brief.approved.as_ref().map_or_else(Default::default, |(plan, allowed)| {
                (words::plan(plan), words::conditions(allowed))
            });
        let phase = Phase {
            context: context.trim(),
            feedback: words::feedback(brief),
            dismissed: words::dismissed(brief),
            plan,
            conditions,
            mark: answer::MARK,
            schema: Kind::of(mode).schema().trim_end(),
            question_schema: Kind::instead(mode).map_or("", |kind| kind.schema().trim_end()),
            notes_limit_kib: answer::NOTES_LIMIT / 1024,
        };
        let name = match mode {
            Mode::Research => "research.md",
            Mode::Plan => "plan.md",
            Mode::Implement => "implement.md",
            Mode::Review => "review.md",
        };
        self.render(name, &phase)
    }

    /// What is said to an agent whose answer could not be used.
    pub fn repair(&self, mode: Mode, faults: &Faults) -> Result<String, TemplateError> {
        let repair = Repair {
            phase: mode.name(),
            faults: faults.sentences(),
            mark: answer::MARK,
            schema: Kind::of(mode).schema().trim_end(),
            question_schema: Kind::instead(mode).map_or("", |kind| kind.schema().trim_end()),
        };
        self.render("repair.md", &repair)
    }

    fn render(&self, name: &'static str, values: &impl Serialize) -> Result<String, TemplateError> {
        let rendered = self
            .environment
            .get_template(name)
            .and_then(|it| it.render(minijinja::Value::from(minijinja::value::Serde(values))));
        let text = rendered.map_err(|error| self.wrong(name, &error))?;
        Ok(text.trim().to_owned() + "\n")
    }

    fn origin(&self, name: &str) -> String {
        self.origins.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    fn wrong(&self, name: &str, error: &minijinja::Error) -> TemplateError {
        let line = error.line().unwrap_or(1);
        let detail = match (error.kind(), error.detail()) {
            // It does not say what is not there; the line does.
            (ErrorKind::UndefinedError, _) => self.quoted(name, line),
            (_, Some(detail)) => format!(": {detail}"),
            (_, None) => String::new(),
        };
        let reason = format!("{}{detail}", error.kind());
        TemplateError::Wrong { path: self.origin(name), line, reason }
    }

    /// A line of a template, and what could be named in it.
    fn quoted(&self, name: &str, line: usize) -> String {
        let template = self.environment.get_template(name);
        let source = template.as_ref().map_or("", |it| it.source());
        let text = source.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        format!(" in `{}`: there are {}", text.trim(), known(name).join(", "))
    }
}

fn known(name: &str) -> &'static [&'static str] {
    match name {
        "context.md" => CONTEXT,
        "repair.md" => REPAIR,
        _phase => PHASE,
    }
}

/// Where `variable` is first named between braces.
fn line_of(text: &str, variable: &str) -> usize {
    let word = |it: char| it.is_alphanumeric() || it == '_';
    let named =
        |line: &str| line.contains('{') && line.split(|it| !word(it)).any(|it| it == variable);
    text.lines().position(named).map_or(1, |at| at + 1)
}

pub(super) fn read_all(directory: &Path) -> Result<BTreeMap<String, String>, TemplateError> {
    let unread = |path: &Path, reason: String| TemplateError::Unread {
        path: path.display().to_string(),
        reason,
    };
    let entries =
        fs_err::read_dir(directory).map_err(|error| unread(directory, error.to_string()))?;
    let mut found = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(|error| unread(directory, error.to_string()))?.path();
        let name =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        // Editors and mounted volumes leave hidden files.
        if name.starts_with('.') {
            continue;
        }
        if !BUILT_IN.iter().any(|(known, _)| *known == name) {
            return Err(TemplateError::Unknown { path: path.display().to_string() });
        }
        let length =
            fs_err::metadata(&path).map_err(|error| unread(&path, error.to_string()))?.len();
        if length > LIMIT {
            return Err(unread(&path, format!("it has {length} bytes, and {LIMIT} are allowed")));
        }
        let text =
            fs_err::read_to_string(&path).map_err(|error| unread(&path, error.to_string()))?;
        found.insert(name, text);
    }
    Ok(found)
}
