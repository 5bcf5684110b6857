//! The language of GraphQL, read strictly: operations and fragments, nothing that defines types.
//!
//! Only what is needed to say which fields an operation asks for at its root, and with which arguments. Everything is read to the end;
//! what is not the language is an error.

use std::collections::{BTreeMap, BTreeSet};

/// The longest document, in bytes.
pub const DOCUMENT_LIMIT: usize = 256 * 1024;

/// How deep selections and values may be nested.
pub const DEPTH_LIMIT: usize = 48;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("the document is longer than {DOCUMENT_LIMIT} bytes")]
    TooLong,
    #[error("the document is nested more than {DEPTH_LIMIT} deep")]
    TooDeep,
    #[error("the document has the character `{}`, which means nothing", .0.escape_default())]
    Character(char),
    #[error("a text in the document does not end, or has an escape that means nothing")]
    Text,
    #[error("the document has `{found}` where {wanted} belongs")]
    Unexpected { found: String, wanted: &'static str },
    #[error("the document defines `{0}` twice")]
    Twice(String),
    #[error("the document has no operation")]
    NoOperation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub operations: Vec<Operation>,
    pub fragments: BTreeMap<String, Fragment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    Query,
    Mutation,
    Subscription,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub kind: OperationKind,
    pub name: Option<String>,
    pub variables: Variables,
    pub selections: Vec<Selection>,
}

/// What is declared, each with the constant that it is by default.
pub type Variables = BTreeMap<String, Option<Value>>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fragment {
    pub on: String,
    pub selections: Vec<Selection>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    Field(Field),
    /// `...name`
    Spread(String),
    /// `... on Type { }`
    Inline {
        on: Option<String>,
        selections: Vec<Selection>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The field itself, whatever it is called in the answer.
    pub name: String,
    pub arguments: Vec<(String, Value)>,
    pub selections: Vec<Selection>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Variable(String),
    Number(String),
    Text(String),
    /// `true`, `null`, `OPEN`.
    Word(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    fn is_constant(&self) -> bool {
        match self {
            Self::Variable(_) => false,
            Self::Number(_) | Self::Text(_) | Self::Word(_) => true,
            Self::List(list) => list.iter().all(Self::is_constant),
            Self::Object(pairs) => pairs.iter().all(|(_, value)| value.is_constant()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Number(String),
    Text(String),
    /// `{`, `:`, and the like.
    Mark(char),
    Dots,
}

/// Reads a whole document.
pub fn read(text: &str) -> Result<Document, DocumentError> {
    if text.len() > DOCUMENT_LIMIT {
        return Err(DocumentError::TooLong);
    }
    let tokens = tokens(text)?;
    let mut reader = Reader { tokens: tokens.iter().peekable(), depth: 0 };
    let mut document = Document { operations: Vec::new(), fragments: BTreeMap::new() };
    while reader.tokens.peek().is_some() {
        reader.definition(&mut document)?;
    }
    if document.operations.is_empty() { Err(DocumentError::NoOperation) } else { Ok(document) }
}

fn tokens(text: &str) -> Result<Vec<Token>, DocumentError> {
    let mut tokens = Vec::new();
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ' ' | '\t' | '\n' | '\r' | ',' => 1,
            '#' => rest.find(['\n', '\r']).unwrap_or(rest.len()),
            '!' | '$' | '&' | '(' | ')' | ':' | '=' | '@' | '[' | ']' | '{' | '|' | '}' => {
                tokens.push(Token::Mark(first));
                1
            }
            '.' if rest.starts_with("...") => {
                tokens.push(Token::Dots);
                3
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let end = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                    .unwrap_or(rest.len());
                tokens.push(Token::Name(rest.get(..end).unwrap_or_default().to_owned()));
                end
            }
            '0'..='9' | '-' => {
                let part =
                    |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.' | '_');
                let end = rest.find(|c: char| !part(c)).unwrap_or(rest.len());
                let number = rest.get(..end).unwrap_or_default();
                // JSON has the same numbers.
                if serde_json::from_str::<serde_json::Number>(number).is_err() {
                    return Err(DocumentError::Character(first));
                }
                tokens.push(Token::Number(number.to_owned()));
                end
            }
            '"' => {
                let (text, length) = text_token(rest)?;
                tokens.push(Token::Text(text));
                length
            }
            other => return Err(DocumentError::Character(other)),
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(tokens)
}

/// A text in quotes, and how many bytes it has with them.
fn text_token(rest: &str) -> Result<(String, usize), DocumentError> {
    if let Some(block) = rest.strip_prefix("\"\"\"") {
        let mut from = 0;
        loop {
            let found = block
                .get(from..)
                .and_then(|rest| rest.find("\"\"\""))
                .ok_or(DocumentError::Text)?;
            let end = from + found;
            let text = block.get(..end).unwrap_or_default();
            if text.ends_with('\\') {
                from = end + 3;
                continue;
            }
            return Ok((text.replace("\\\"\"\"", "\"\"\""), end + 6));
        }
    }
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            '\n' | '\r' => return Err(DocumentError::Text),
            '"' if !escaped => {
                let length = at + 1;
                let quoted = rest.get(..length).unwrap_or_default();
                // The escapes are JSON's.
                let text = serde_json::from_str(quoted).map_err(|_| DocumentError::Text)?;
                return Ok((text, length));
            }
            _ => escaped = character == '\\' && !escaped,
        }
    }
    Err(DocumentError::Text)
}

struct Reader<'a> {
    tokens: std::iter::Peekable<std::slice::Iter<'a, Token>>,
    depth: usize,
}

impl Reader<'_> {
    fn definition(&mut self, document: &mut Document) -> Result<(), DocumentError> {
        if self.is_mark('{') {
            let selections = self.selections()?;
            let kind = OperationKind::Query;
            document.operations.push(Operation {
                kind,
                name: None,
                variables: Variables::new(),
                selections,
            });
            return Ok(());
        }
        let word = self.name("an operation or a fragment")?;
        let kind = match word.as_str() {
            "query" => OperationKind::Query,
            "mutation" => OperationKind::Mutation,
            "subscription" => OperationKind::Subscription,
            "fragment" => return self.fragment(document),
            _ => {
                return Err(DocumentError::Unexpected {
                    found: word,
                    wanted: "an operation or a fragment",
                });
            }
        };
        let name = if self.is_name() { Some(self.name("a name")?) } else { None };
        let variables = self.variables()?;
        self.directives()?;
        let selections = self.selections()?;
        document.operations.push(Operation { kind, name, variables, selections });
        Ok(())
    }

    fn fragment(&mut self, document: &mut Document) -> Result<(), DocumentError> {
        let name = self.name("the name of a fragment")?;
        let word = self.name("`on`")?;
        if name == "on" || word != "on" {
            return Err(DocumentError::Unexpected { found: word, wanted: "`on`" });
        }
        let on = self.name("a type")?;
        self.directives()?;
        let selections = self.selections()?;
        match document.fragments.insert(name.clone(), Fragment { on, selections }) {
            Some(_) => Err(DocumentError::Twice(name)),
            None => Ok(()),
        }
    }

    fn variables(&mut self) -> Result<Variables, DocumentError> {
        let mut variables = Variables::new();
        if !self.take_mark('(') {
            return Ok(variables);
        }
        while !self.take_mark(')') {
            self.mark('$', "a variable")?;
            let name = self.name("the name of a variable")?;
            self.mark(':', "`:`")?;
            self.kind()?;
            let usual = if self.take_mark('=') { Some(self.constant()?) } else { None };
            self.directives()?;
            if variables.insert(name.clone(), usual).is_some() {
                return Err(DocumentError::Twice(name));
            }
        }
        Ok(variables)
    }

    /// `[Type!]!`
    fn kind(&mut self) -> Result<(), DocumentError> {
        self.deeper(|reader| {
            if reader.take_mark('[') {
                reader.kind()?;
                reader.mark(']', "`]`")?;
            } else {
                reader.name("a type")?;
            }
            reader.take_mark('!');
            Ok(())
        })
    }

    fn directives(&mut self) -> Result<(), DocumentError> {
        while self.take_mark('@') {
            self.name("the name of a directive")?;
            self.arguments()?;
        }
        Ok(())
    }

    fn selections(&mut self) -> Result<Vec<Selection>, DocumentError> {
        self.deeper(|reader| {
            reader.mark('{', "`{`")?;
            let mut selections = vec![reader.selection()?];
            while !reader.take_mark('}') {
                selections.push(reader.selection()?);
            }
            Ok(selections)
        })
    }

    fn selection(&mut self) -> Result<Selection, DocumentError> {
        if self.tokens.next_if(|token| **token == Token::Dots).is_some() {
            return self.spread();
        }
        let mut name = self.name("a field")?;
        if self.take_mark(':') {
            name = self.name("a field")?;
        }
        let arguments = self.arguments()?;
        self.directives()?;
        let selections = if self.is_mark('{') { self.selections()? } else { Vec::new() };
        Ok(Selection::Field(Field { name, arguments, selections }))
    }

    fn spread(&mut self) -> Result<Selection, DocumentError> {
        let word = if self.is_name() { Some(self.name("a fragment")?) } else { None };
        let on = match word.as_deref() {
            Some("on") => Some(self.name("a type")?),
            Some(_) => {
                self.directives()?;
                return Ok(Selection::Spread(word.unwrap_or_default()));
            }
            None => None,
        };
        self.directives()?;
        Ok(Selection::Inline { on, selections: self.selections()? })
    }

    fn arguments(&mut self) -> Result<Vec<(String, Value)>, DocumentError> {
        if !self.take_mark('(') {
            return Ok(Vec::new());
        }
        self.pairs(')')
    }

    /// `name: value` until the mark.
    fn pairs(&mut self, end: char) -> Result<Vec<(String, Value)>, DocumentError> {
        let mut pairs: Vec<(String, Value)> = Vec::new();
        while !self.take_mark(end) {
            let name = self.name("a name")?;
            self.mark(':', "`:`")?;
            pairs.push((name, self.value()?));
        }
        // Looked for once, at the end: a list may have tens of thousands.
        let mut known = BTreeSet::new();
        match pairs.iter().find(|(name, _)| !known.insert(name)) {
            Some((name, _)) => Err(DocumentError::Twice(name.clone())),
            None => Ok(pairs),
        }
    }

    fn value(&mut self) -> Result<Value, DocumentError> {
        self.deeper(|reader| match reader.tokens.next() {
            Some(Token::Name(word)) => Ok(Value::Word(word.clone())),
            Some(Token::Number(number)) => Ok(Value::Number(number.clone())),
            Some(Token::Text(text)) => Ok(Value::Text(text.clone())),
            Some(Token::Mark('$')) => reader.name("the name of a variable").map(Value::Variable),
            Some(Token::Mark('{')) => reader.pairs('}').map(Value::Object),
            Some(Token::Mark('[')) => {
                let mut list = Vec::new();
                while !reader.take_mark(']') {
                    list.push(reader.value()?);
                }
                Ok(Value::List(list))
            }
            other => Err(unexpected(other, "a value")),
        })
    }

    /// A value without variables: one that could stand for itself would never end.
    fn constant(&mut self) -> Result<Value, DocumentError> {
        let value = self.value()?;
        let found = "$".to_owned();
        if value.is_constant() {
            Ok(value)
        } else {
            Err(DocumentError::Unexpected { found, wanted: "a constant" })
        }
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DocumentError>,
    ) -> Result<T, DocumentError> {
        if self.depth >= DEPTH_LIMIT {
            return Err(DocumentError::TooDeep);
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn is_mark(&mut self, mark: char) -> bool {
        self.tokens.peek().is_some_and(|token| **token == Token::Mark(mark))
    }

    fn is_name(&mut self) -> bool {
        matches!(self.tokens.peek(), Some(Token::Name(_)))
    }

    fn take_mark(&mut self, mark: char) -> bool {
        self.tokens.next_if(|token| **token == Token::Mark(mark)).is_some()
    }

    fn mark(&mut self, mark: char, wanted: &'static str) -> Result<(), DocumentError> {
        match self.tokens.next() {
            Some(Token::Mark(found)) if *found == mark => Ok(()),
            other => Err(unexpected(other, wanted)),
        }
    }

    fn name(&mut self, wanted: &'static str) -> Result<String, DocumentError> {
        match self.tokens.next() {
            Some(Token::Name(name)) => Ok(name.clone()),
            other => Err(unexpected(other, wanted)),
        }
    }
}

fn unexpected(found: Option<&Token>, wanted: &'static str) -> DocumentError {
    let found = match found {
        None => "nothing more".to_owned(),
        Some(Token::Name(text) | Token::Number(text) | Token::Text(text)) => {
            text.chars().take(40).collect()
        }
        Some(Token::Mark(mark)) => mark.to_string(),
        Some(Token::Dots) => "...".to_owned(),
    };
    DocumentError::Unexpected { found, wanted }
}
