//! GitHub's GraphQL interface: one operation, judged by the names of its root fields.
//!
//! A query reads, and what it may read is the token's to say. A mutation is judged by each of its root fields, by the field's own name
//! and not by what the answer calls it, also when it comes out of a fragment. One that is not in the table refuses all.

use serde_json::{Map, Value};

use super::{
    Judgement, Task,
    document::{self, Document, Field, Operation, OperationKind, Selection},
    is_own_head,
};
use crate::bundles::strict_json;

/// The most fields and fragments at the root of one operation, counted as often as they are met.
const ROOT_LIMIT: usize = 64;

/// The fields that change something and that a task needs, with what they are called.
const MUTATIONS: [(&str, &str, Condition); 9] = [
    ("createPullRequest", "open a pull request", Condition::OwnHead),
    ("updatePullRequest", "update a pull request", Condition::OwnWork),
    ("markPullRequestReadyForReview", "ask for reviews", Condition::OwnWork),
    ("convertPullRequestToDraft", "make a pull request a draft", Condition::OwnWork),
    ("requestReviews", "ask for reviews", Condition::OwnWork),
    ("addComment", "comment", Condition::OwnWork),
    ("updateIssueComment", "change a comment", Condition::OwnWork),
    ("addPullRequestReviewThreadReply", "answer a review", Condition::OwnWork),
    ("resolveReviewThread", "answer a review", Condition::OwnWork),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// The input opens a pull request from a branch of the task.
    OwnHead,
    /// The task may push something; to what the ids belong cannot be seen.
    OwnWork,
}

/// Judges `POST /graphql`.
pub fn judge(content_type: Option<&str>, body: Option<&[u8]>, task: &Task) -> Judgement {
    let is_json = |kind: &str| {
        kind.split(';')
            .next()
            .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    };
    if !content_type.is_some_and(is_json) {
        return Judgement::not("a request to GraphQL is `application/json`");
    }
    let Some(body) = body else {
        return Judgement::NeedsBody;
    };
    match read(body) {
        Ok(asked) => asked.judge(task),
        Err(why) => Judgement::not(why),
    }
}

/// One operation with its variables.
struct Asked {
    operation: Operation,
    document: Document,
    variables: Map<String, Value>,
}

fn read(body: &[u8]) -> Result<Asked, String> {
    let value =
        strict_json::read(body).map_err(|error| format!("the body is not plain JSON: {error}"))?;
    let Value::Object(mut fields) = value else {
        return Err("several operations in one request are not carried".to_owned());
    };
    let query = fields.remove("query");
    let variables = fields.remove("variables");
    let name = fields.remove("operationName");
    if let Some(other) = fields.keys().next() {
        return Err(format!(
            "a request to GraphQL has no `{other}` here; stored queries are not carried"
        ));
    }
    let Some(Value::String(query)) = query else {
        return Err("the request has no query".to_owned());
    };
    let variables = match variables {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(variables)) => variables,
        Some(_) => return Err("the variables are not an object".to_owned()),
    };
    let mut document = document::read(&query).map_err(|error| error.to_string())?;
    let operation = document.operations.pop().filter(|_| document.operations.is_empty());
    let Some(operation) = operation else {
        return Err("a document has one operation here".to_owned());
    };
    match name {
        None | Some(Value::Null) => {}
        Some(Value::String(name)) if operation.name.as_ref() == Some(&name) || name.is_empty() => {}
        Some(_) => return Err("the operation's name is not in the document".to_owned()),
    }
    Ok(Asked { operation, document, variables })
}

impl Asked {
    fn judge(&self, task: &Task) -> Judgement {
        let fields = match self.root_fields() {
            Ok(fields) => fields,
            Err(why) => return Judgement::not(why),
        };
        match self.operation.kind {
            OperationKind::Query => Judgement::Belongs { operation: "read" },
            OperationKind::Subscription => Judgement::not("subscriptions are not carried"),
            OperationKind::Mutation => {
                let mut judgement = Judgement::not("the mutation changes nothing");
                for field in fields {
                    judgement = self.mutation(field, task);
                    if matches!(judgement, Judgement::Not { .. }) {
                        return judgement;
                    }
                }
                judgement
            }
        }
    }

    /// The fields at the root, out of all fragments. A fragment that leads to itself uses up the limit.
    fn root_fields(&self) -> Result<Vec<&Field>, String> {
        let mut fields = Vec::new();
        let mut next: Vec<&Selection> = self.operation.selections.iter().rev().collect();
        for _ in 0..ROOT_LIMIT {
            match next.pop() {
                None => return Ok(fields),
                Some(Selection::Field(field)) => fields.push(field),
                Some(Selection::Inline { selections, .. }) => next.extend(selections.iter().rev()),
                Some(Selection::Spread(name)) => match self.document.fragments.get(name) {
                    Some(fragment) => next.extend(fragment.selections.iter().rev()),
                    None => return Err(format!("the fragment `{name}` is not in the document")),
                },
            }
        }
        Err("the operation has too many fields or fragments at its root".to_owned())
    }

    fn mutation(&self, field: &Field, task: &Task) -> Judgement {
        if field.name == "__typename" {
            return Judgement::Belongs { operation: "read" };
        }
        let Some((_, operation, condition)) =
            MUTATIONS.iter().find(|(name, ..)| *name == field.name)
        else {
            return Judgement::not(format!(
                "the mutation `{}` is not one that a task needs",
                field.name
            ));
        };
        if task.pushes.is_empty() {
            return Judgement::not("the task may not push anything yet, so it has no pull request");
        }
        match condition {
            Condition::OwnWork => Judgement::Belongs { operation },
            Condition::OwnHead => match self.input(field) {
                Err(why) => Judgement::not(why),
                Ok(input) if input.get("headRepositoryId").is_some_and(|id| !id.is_null()) => {
                    Judgement::not(
                        "a pull request is opened from the repository itself, not from a fork",
                    )
                }
                Ok(input)
                    if is_own_head(
                        input.get("headRefName").unwrap_or(&Value::Null),
                        task.pushes.iter(),
                    ) =>
                {
                    Judgement::Belongs { operation }
                }
                Ok(_) => Judgement::not("a pull request is opened from the task's own branch"),
            },
        }
    }

    /// The argument `input`, with its variables put in.
    fn input(&self, field: &Field) -> Result<Value, String> {
        match field.arguments.as_slice() {
            [(name, value)] if name == "input" => self.resolve(value),
            _ => Err(format!("`{}` takes one argument, `input`", field.name)),
        }
    }

    fn resolve(&self, value: &document::Value) -> Result<Value, String> {
        match value {
            document::Value::Variable(name) => {
                let declared =
                    self.operation.variables.iter().find(|variable| variable.name == *name);
                match (self.variables.get(name), declared) {
                    (Some(value), Some(_)) => Ok(value.clone()),
                    (None, Some(declared)) => match &declared.usual {
                        Some(usual) => self.resolve(usual),
                        None => Ok(Value::Null),
                    },
                    (_, None) => Err(format!("`${name}` is not declared")),
                }
            }
            document::Value::Number(number) => {
                serde_json::from_str(number).map_err(|error| error.to_string())
            }
            document::Value::Text(text) => Ok(Value::String(text.clone())),
            document::Value::Word(word) => Ok(match word.as_str() {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                "null" => Value::Null,
                word => Value::String(word.to_owned()),
            }),
            document::Value::List(list) => list.iter().map(|item| self.resolve(item)).collect(),
            document::Value::Object(pairs) => {
                let resolve = |(name, value): &(String, document::Value)| {
                    Ok((name.clone(), self.resolve(value)?))
                };
                pairs.iter().map(resolve).collect::<Result<Map<_, _>, String>>().map(Value::Object)
            }
        }
    }
}

/// The mutations, for the reference.
pub fn reference() -> impl Iterator<Item = (&'static str, &'static str)> {
    MUTATIONS.iter().map(|(field, name, _)| (*field, *name))
}
