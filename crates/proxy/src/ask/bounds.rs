//! How much the proxy may say, checked by the broker before anything of it is looked at.
//!
//! The proxy reads hostile bytes, so the broker takes it for somebody who may have been taken over: a message that is too long, says too
//! much of one thing, or is not text where text belongs ends the connection. The proxy keeps within the same numbers by cutting, so that
//! no program can make it say too much.

use super::{
    Outcome, Question, Refusal, Report, Request, SHOWN_HEADERS, ToBroker, Usage,
    said::{
        BRANCH_LIMIT, FIELDS_LIMIT, ModelBody, NAME_LIMIT, Operation, Origin, SENTENCE_LIMIT, Said,
        TOOLS_LIMIT,
    },
};

/// The most placeholders of one request. More than anybody has use for.
pub const PLACEHOLDERS_LIMIT: usize = 16;

/// The longest text of a report, in bytes.
pub const TEXT_LIMIT: usize = 16 * 1024;

/// The longest host, also of one that is none, in bytes.
const HOST_LIMIT: usize = 512;

/// The longest line of a head, in bytes.
const LINE_LIMIT: usize = 8 * 1024;

/// Something of which the proxy said too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not within its bounds")]
pub struct OutOfBounds(&'static str);

/// Whether all of it is within bounds.
pub fn check(message: &ToBroker) -> Result<(), OutOfBounds> {
    match message {
        ToBroker::Ready => Ok(()),
        ToBroker::Ask { question, .. } => match question {
            Question::Connect(connect) => short(&connect.host, HOST_LIMIT, "a host"),
            Question::Name { host } => short(host, HOST_LIMIT, "a host"),
            Question::Request(request) => of_request(request),
        },
        ToBroker::Ended { report, .. } => of_report(report),
    }
}

/// Cuts what may have become long on its way through errors, so that the report is heard.
pub fn fit(report: &mut Report) {
    cut(&mut report.host, HOST_LIMIT);
    if let Some((method, path)) = &mut report.request {
        cut(method, LINE_LIMIT);
        cut(path, LINE_LIMIT);
    }
    if let Some(rule) = &mut report.rule {
        cut(rule, TEXT_LIMIT);
    }
    if let Some(model) = report.usage.as_mut().and_then(|usage| usage.model.as_mut()) {
        cut(model, LINE_LIMIT);
    }
    match &mut report.outcome {
        Outcome::Done { .. } => {}
        Outcome::Broken { reason } => cut(reason, TEXT_LIMIT),
        Outcome::Refused(refusal) => {
            cut(&mut refusal.host, HOST_LIMIT);
            cut(&mut refusal.phase, LINE_LIMIT);
            cut(&mut refusal.reason, TEXT_LIMIT);
            cut(&mut refusal.remedy, TEXT_LIMIT);
            if let Some(rule) = &mut refusal.rule {
                cut(rule, TEXT_LIMIT);
            }
        }
    }
}

fn cut(text: &mut String, most: usize) {
    text.truncate(text.floor_char_boundary(most));
}

fn of_request(request: &Request) -> Result<(), OutOfBounds> {
    short(&request.host, HOST_LIMIT, "a host")?;
    short(&request.method, LINE_LIMIT, "a method")?;
    short(&request.target, LINE_LIMIT, "a target")?;
    short(request.content_type.as_deref().unwrap_or_default(), LINE_LIMIT, "a content type")?;
    short(request.upgrade.as_deref().unwrap_or_default(), NAME_LIMIT, "an upgrade")?;
    few(request.headers.len(), SHOWN_HEADERS.len(), "the list of headers")?;
    for (name, value) in &request.headers {
        if !SHOWN_HEADERS.contains(&name.as_str()) {
            return Err(OutOfBounds("the name of a header"));
        }
        short(value, LINE_LIMIT, "a header")?;
    }
    few(request.placeholders.len(), PLACEHOLDERS_LIMIT, "the list of placeholders")?;
    for placeholder in &request.placeholders {
        short(placeholder, 2 * NAME_LIMIT, "a placeholder")?;
    }
    request.body.as_ref().map_or(Ok(()), of_body)
}

fn of_body(said: &Said) -> Result<(), OutOfBounds> {
    match said {
        Said::Unreadable(why) => line(why, SENTENCE_LIMIT, "a sentence"),
        Said::Graphql(Operation::Query | Operation::Subscription) => Ok(()),
        Said::Graphql(Operation::Mutation(fields)) => {
            few(fields.len(), FIELDS_LIMIT, "the list of fields")?;
            fields.iter().try_for_each(|field| {
                line(&field.name, NAME_LIMIT, "the name of a field")?;
                of_origin(&field.from)
            })
        }
        Said::PullRequest(origin) => of_origin(origin),
        Said::Model(body) => of_model(body),
    }
}

fn of_origin(origin: &Origin) -> Result<(), OutOfBounds> {
    match origin {
        Origin::Elsewhere | Origin::Nothing => Ok(()),
        Origin::Branch(branch) => line(branch, BRANCH_LIMIT, "a branch"),
        Origin::Unclear(why) => line(why, SENTENCE_LIMIT, "a sentence"),
    }
}

fn of_model(body: &ModelBody) -> Result<(), OutOfBounds> {
    line(body.model.as_deref().unwrap_or_default(), NAME_LIMIT, "the name of a model")?;
    few(body.tools.len(), TOOLS_LIMIT, "the list of tools")?;
    body.tools.iter().try_for_each(|tool| line(tool, NAME_LIMIT, "the kind of a tool"))
}

fn of_report(report: &Report) -> Result<(), OutOfBounds> {
    short(&report.host, HOST_LIMIT, "a host")?;
    if let Some((method, path)) = &report.request {
        short(method, LINE_LIMIT, "a method")?;
        short(path, LINE_LIMIT, "a path")?;
    }
    short(report.rule.as_deref().unwrap_or_default(), TEXT_LIMIT, "a rule")?;
    report.usage.as_ref().map_or(Ok(()), of_usage)?;
    match &report.outcome {
        Outcome::Done { .. } => Ok(()),
        Outcome::Broken { reason } => short(reason, TEXT_LIMIT, "a reason"),
        Outcome::Refused(refusal) => of_refusal(refusal),
    }
}

fn of_usage(usage: &Usage) -> Result<(), OutOfBounds> {
    short(usage.model.as_deref().unwrap_or_default(), LINE_LIMIT, "the name of a model")
}

fn of_refusal(refusal: &Refusal) -> Result<(), OutOfBounds> {
    short(&refusal.host, HOST_LIMIT, "a host")?;
    short(&refusal.phase, LINE_LIMIT, "a phase")?;
    short(refusal.rule.as_deref().unwrap_or_default(), TEXT_LIMIT, "a rule")?;
    short(&refusal.reason, TEXT_LIMIT, "a reason")?;
    short(&refusal.remedy, TEXT_LIMIT, "a remedy")
}

fn short(text: &str, most: usize, what: &'static str) -> Result<(), OutOfBounds> {
    few(text.len(), most, what)
}

/// Short, and on one line.
fn line(text: &str, most: usize, what: &'static str) -> Result<(), OutOfBounds> {
    short(text, most, what)?;
    if text.chars().any(char::is_control) { Err(OutOfBounds(what)) } else { Ok(()) }
}

const fn few(count: usize, most: usize, what: &'static str) -> Result<(), OutOfBounds> {
    if count > most { Err(OutOfBounds(what)) } else { Ok(()) }
}

#[cfg(test)]
#[path = "bounds_tests.rs"]
mod tests;
