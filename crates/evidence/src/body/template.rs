//! The template of the text: ours, or an operator's.
//!
//! It is tried with much and with nothing before it is used, so that a mistake is found when the server starts and not when a task is
//! delivered. Values are put in as they are and are never read as templates; a template can open no files and include no others.

use minijinja::{Environment, ErrorKind, UndefinedBehavior, syntax::SyntaxConfig};

use super::{
    Block, BlockError, LIMIT, PullRequest,
    block::is_marked,
    own::Own,
    values::{CheckValues, Items, Room, Values, values},
};

/// Bytes of a template.
const TEMPLATE_LIMIT: usize = 64 * 1024;
const NAME: &str = "pull-request.md.jinja";
const BUILT_IN: &str = include_str!("pull-request.md.jinja");

/// A template that was read and tried.
#[derive(Debug, Clone)]
pub struct BodyTemplate {
    environment: Environment<'static>,
    /// Whose it is, to tell whose mistake it is.
    origin: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("`{origin}`, line {line}: {reason}; mend it, or leave it out to have the built-in one")]
    Wrong { origin: String, line: usize, reason: String },
    #[error("`{origin}` has {length} bytes, and {TEMPLATE_LIMIT} are allowed")]
    TooLarge { origin: String, length: usize },
    #[error("`{origin}` gives a text of more than {LIMIT} bytes, however much is left off")]
    TooLong { origin: String },
    #[error("`{origin}` writes `lamplighter:block`, which is added after it; take that out")]
    OwnBlock { origin: String },
    #[error(transparent)]
    Block(#[from] BlockError),
}

impl BodyTemplate {
    pub fn builtin() -> Result<Self, TemplateError> {
        Self::new("built-in pull-request.md", BUILT_IN)
    }

    /// The text of an operator's template; `origin` is where it is from.
    pub fn new(origin: &str, text: &str) -> Result<Self, TemplateError> {
        let origin = origin.to_owned();
        if text.len() > TEMPLATE_LIMIT {
            return Err(TemplateError::TooLarge { origin, length: text.len() });
        }
        if is_marked(text) {
            return Err(TemplateError::OwnBlock { origin });
        }
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        // Values are Markdown already.
        environment.set_auto_escape_callback(|_name| minijinja::AutoEscape::None);
        let mut template = Self { environment, origin };
        match SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
            Ok(syntax) => template.environment.set_syntax(syntax),
            Err(error) => return Err(template.wrong(&error)),
        }
        let added = template.environment.add_template_owned(NAME, text.to_owned());
        added.map_err(|error| template.wrong(&error))?;
        template.check_names(text)?;
        template.fill(&rich())?;
        template.fill(&Values::default())?;
        Ok(template)
    }

    /// A misspelt name is found wherever it stands, also where neither of the tries comes by.
    fn check_names(&self, text: &str) -> Result<(), TemplateError> {
        let template = self.environment.get_template(NAME).map_err(|error| self.wrong(&error))?;
        let known = serde_json::to_value(rich()).unwrap_or_default();
        let exists = |name: &str| {
            let mut parts = name.split('.');
            parts.try_fold(&known, |value, part| value.get(part)).is_some()
        };
        let is_global = |name: &str| self.environment.globals().any(|(global, _)| global == name);
        let mut unknown: Vec<String> = template.undeclared_variables(true).into_iter().collect();
        unknown.retain(|name| !exists(name) && !is_global(name));
        unknown.sort_unstable();
        let Some(name) = unknown.first() else { return Ok(()) };
        let line =
            text.lines().position(|line| line.contains(name.as_str())).map_or(1, |at| at + 1);
        let reason = format!("there is no `{name}` here");
        Err(TemplateError::Wrong { origin: self.origin.clone(), line, reason })
    }

    /// The whole text of `request`, with the block at its end.
    pub fn text(&self, request: &PullRequest<'_>) -> Result<String, TemplateError> {
        let block = Block::of(request.statement, request.receipt);
        let end = block.to_text()?;
        let own = request.own_template.map_or(Own::Nothing, Own::of);
        for room in Room::FROM_LARGE_TO_SMALL {
            let middle = self.fill(&values(request, room))?;
            let text = own.beside(&middle, &end);
            if text.len() > LIMIT {
                continue;
            }
            // A template can put words together that were harmless apart.
            if Block::find(&text)? != Some(block) {
                return Err(TemplateError::OwnBlock { origin: self.origin.clone() });
            }
            return Ok(text);
        }
        Err(TemplateError::TooLong { origin: self.origin.clone() })
    }

    fn fill(&self, values: &Values) -> Result<String, TemplateError> {
        let values = minijinja::Value::from(minijinja::value::Serde(values));
        let filled = self.environment.get_template(NAME).and_then(|it| it.render(values));
        let text = filled.map_err(|error| self.wrong(&error))?;
        Ok(text.trim().to_owned())
    }

    fn wrong(&self, error: &minijinja::Error) -> TemplateError {
        let line = error.line().unwrap_or(1);
        let detail = match (error.kind(), error.detail()) {
            // It does not say what is not there; the line does.
            (ErrorKind::UndefinedError, _) => format!(" in `{}`", self.source_line(line)),
            (_, Some(detail)) => format!(": {detail}"),
            (_, None) => String::new(),
        };
        let reason = format!("{}{detail}", error.kind());
        TemplateError::Wrong { origin: self.origin.clone(), line, reason }
    }

    fn source_line(&self, line: usize) -> String {
        let template = self.environment.get_template(NAME);
        let source = template.as_ref().map_or("", |it| it.source());
        let text = source.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        text.trim().to_owned()
    }
}

/// Something of everything, so that every branch of a template is tried.
fn rich() -> Values {
    let text = || "x".to_owned();
    let items = || Items { texts: vec![text()], left_off: 1 };
    let mut values = Values {
        checks: vec![CheckValues::default()],
        checks_left_off: 1,
        risks: items(),
        refused_hosts: items(),
        flags: items(),
        reviewer: text(),
        coverage: text(),
        log: text(),
        reasoning: text(),
        ..Values::default()
    };
    values.plan.conditions = vec![text()];
    values.plan.amendments = vec![text()];
    values.review.findings = items();
    values.review.dismissals = items();
    values.review.rounds = 1;
    for link in [
        &mut values.links.task,
        &mut values.links.sandbox,
        &mut values.links.log,
        &mut values.links.reasoning,
    ] {
        *link = text();
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const PAGE: &str = include_str!("../../../../docs/reference/pull-request.md");

    /// The names of all values, also of those within others.
    fn names(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(entries) => {
                for (name, inner) in entries {
                    found.push(name.clone());
                    names(inner, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| names(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    #[test]
    fn the_page_names_every_value_and_no_other() {
        let mut known = Vec::new();
        names(&serde_json::to_value(rich()).unwrap(), &mut known);
        let rows: Vec<&str> = PAGE.lines().filter(|line| line.starts_with("| `")).collect();
        let told: Vec<&str> =
            rows.iter().flat_map(|row| row.split('`').skip(1).step_by(2)).collect();
        for name in &known {
            assert!(told.contains(&name.as_str()), "`{name}` is not on the page");
        }
        for name in told {
            assert!(known.iter().any(|it| it == name), "there is no `{name}`");
        }
    }
}
