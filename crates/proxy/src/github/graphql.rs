//! One operation of GraphQL, as the names of its root fields.
//!
//! A field is told by its own name and not by what the answer calls it, also when it comes out of a fragment. A request that has more
//! than one meaning (several operations, a stored query, a key twice) cannot be read.

use std::{collections::BTreeMap, ptr};

use serde_json::{Map, Value};

use super::{
    branch, branch_in,
    document::{self, Document, Field, OperationKind, Selection},
};
use crate::{
    ask::said::{self, FIELDS_LIMIT, NAME_LIMIT, Origin, RootField, Said},
    strict_json,
};

/// Reads the body of `POST /graphql`.
pub fn read(body: &[u8]) -> Said {
    let said = asked(body).and_then(|asked| {
        let fields = asked.root_fields()?;
        Ok(match asked.operation.kind {
            OperationKind::Query => said::Operation::Query,
            OperationKind::Subscription => said::Operation::Subscription,
            OperationKind::Mutation => said::Operation::Mutation(asked.all_told(&fields)),
        })
    });
    match said {
        Ok(operation) => Said::Graphql(operation),
        Err(why) => Said::unreadable(&why),
    }
}

/// One operation with its variables.
struct Asked {
    operation: document::Operation,
    document: Document,
    variables: Map<String, Value>,
}

fn asked(body: &[u8]) -> Result<Asked, String> {
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

/// A value as the document or the variables have it. Nothing is copied: one large variable may be meant by many fields.
#[derive(Clone, Copy)]
enum Given<'a> {
    Written(&'a document::Value),
    Sent(&'a Value),
    Nothing,
}

impl Asked {
    /// The fields at the root, out of all fragments. A fragment that leads to itself uses up the limit.
    fn root_fields(&self) -> Result<Vec<&Field>, String> {
        let mut fields = Vec::new();
        let mut next: Vec<&Selection> = self.operation.selections.iter().rev().collect();
        for _ in 0..FIELDS_LIMIT {
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

    /// A field of a fragment that is spread many times is looked at once.
    fn all_told(&self, fields: &[&Field]) -> Vec<RootField> {
        let mut known = BTreeMap::new();
        let mut told =
            |field| known.entry(ptr::from_ref(field)).or_insert_with(|| self.told(field)).clone();
        fields.iter().map(|field| told(*field)).collect()
    }

    fn told(&self, field: &Field) -> RootField {
        let from = self.origin(field).unwrap_or_else(|why| Origin::unclear(&why));
        RootField { name: said::cut(&field.name, NAME_LIMIT), from }
    }

    /// From where the argument `input` opens a pull request, with its variables put in.
    fn origin(&self, field: &Field) -> Result<Origin, String> {
        let input = match field.arguments.as_slice() {
            [(name, value)] if name == "input" => value,
            _ => return Err(format!("`{}` takes one argument, `input`", field.name)),
        };
        self.all_declared(input)?;
        let input = self.given(input)?;
        let is_elsewhere = match self.part(input, "headRepositoryId")? {
            Given::Nothing => false,
            Given::Sent(value) => !value.is_null(),
            Given::Written(value) => *value != document::Value::Word("null".to_owned()),
        };
        if is_elsewhere {
            return Ok(Origin::Elsewhere);
        }
        Ok(match self.part(input, "headRefName")? {
            Given::Written(document::Value::Text(text)) => branch(text),
            Given::Written(document::Value::Word(word)) => match word.as_str() {
                "true" | "false" | "null" => Origin::Nothing,
                word => branch(word),
            },
            Given::Sent(value) => branch_in(Some(value)),
            Given::Written(
                document::Value::Variable(_)
                | document::Value::Number(_)
                | document::Value::List(_)
                | document::Value::Object(_),
            )
            | Given::Nothing => Origin::Nothing,
        })
    }

    fn given<'a>(&'a self, value: &'a document::Value) -> Result<Given<'a>, String> {
        let document::Value::Variable(name) = value else { return Ok(Given::Written(value)) };
        let declared = self.operation.variables.get(name);
        let Some(usual) = declared else { return Err(format!("`${name}` is not declared")) };
        Ok(match (self.variables.get(name), usual) {
            (Some(value), _) => Given::Sent(value),
            (None, Some(usual)) => Given::Written(usual),
            (None, None) => Given::Nothing,
        })
    }

    fn part<'a>(&'a self, whole: Given<'a>, key: &str) -> Result<Given<'a>, String> {
        match whole {
            Given::Sent(value) => Ok(value.get(key).map_or(Given::Nothing, Given::Sent)),
            Given::Written(document::Value::Object(pairs)) => {
                match pairs.iter().find(|(name, _)| name == key) {
                    Some((_, value)) => self.given(value),
                    None => Ok(Given::Nothing),
                }
            }
            Given::Written(
                document::Value::Variable(_)
                | document::Value::Number(_)
                | document::Value::Text(_)
                | document::Value::Word(_)
                | document::Value::List(_),
            )
            | Given::Nothing => Ok(Given::Nothing),
        }
    }

    /// An input with a variable that nobody declared means nothing. Its depth is limited by the document's.
    fn all_declared(&self, value: &document::Value) -> Result<(), String> {
        match value {
            document::Value::Variable(_) => self.given(value).map(|_| ()),
            document::Value::List(list) => list.iter().try_for_each(|it| self.all_declared(it)),
            document::Value::Object(pairs) => {
                pairs.iter().try_for_each(|(_, it)| self.all_declared(it))
            }
            document::Value::Number(_) | document::Value::Text(_) | document::Value::Word(_) => {
                Ok(())
            }
        }
    }
}
