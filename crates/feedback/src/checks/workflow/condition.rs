//! `if:` of jobs and steps, as far as it can be told for a pull request on a Linux machine.

use super::matrix::Leg;

/// What a condition comes to. What cannot be told here is said to be so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    Yes,
    No,
    Unknown,
}

const LENGTH_LIMIT: usize = 1_000;
const DEPTH_LIMIT: usize = 16;

pub(super) fn truth(condition: &str, leg: &Leg) -> Truth {
    let text = condition.trim();
    let inside = text.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).unwrap_or(text);
    if inside.len() > LENGTH_LIMIT || inside.contains("${{") {
        return Truth::Unknown;
    }
    let mut tokens = tokens(inside).into_iter().peekable();
    let mut reader = Reader { leg, depth: 0 };
    let value = reader.either(&mut tokens);
    if tokens.peek().is_some() { Truth::Unknown } else { value.truth() }
}

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(String),
    Truth(Truth),
    /// Whatever it is compared with: the repository's own name, what another job found out.
    Fitting,
    Unknown,
}

impl Value {
    fn truth(&self) -> Truth {
        match self {
            Self::Text(text) if matches!(text.as_str(), "" | "false" | "0" | "null") => Truth::No,
            Self::Text(_) | Self::Fitting => Truth::Yes,
            Self::Truth(truth) => *truth,
            Self::Unknown => Truth::Unknown,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Sign(&'static str),
    Text(String),
    Name(String),
}

fn tokens(text: &str) -> Vec<Token> {
    const SIGNS: [&str; 11] = ["&&", "||", "==", "!=", ">=", "<=", ">", "<", "!", "(", ")"];
    let mut all = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            all.push(Token::Sign(sign));
            rest = rest.get(sign.len()..).unwrap_or_default();
        } else if let Some(after) = rest.strip_prefix(',') {
            all.push(Token::Sign(","));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('\'') {
            let Some((inside, after)) = after.split_once('\'') else { return Vec::new() };
            all.push(Token::Text(inside.to_owned()));
            rest = after;
        } else {
            let is_name = |c: char| c.is_alphanumeric() || "._-*[]".contains(c);
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            if name.is_empty() {
                return Vec::new();
            }
            all.push(Token::Name(name.to_owned()));
            rest = after;
        }
        rest = rest.trim_start();
    }
    all
}

type Tokens = std::iter::Peekable<std::vec::IntoIter<Token>>;

struct Reader<'a> {
    leg: &'a Leg,
    depth: usize,
}

impl Reader<'_> {
    fn either(&mut self, tokens: &mut Tokens) -> Value {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Value::Unknown;
        }
        let mut value = self.both(tokens);
        while tokens.next_if_eq(&Token::Sign("||")).is_some() {
            let other = self.both(tokens);
            value = match value.truth() {
                Truth::Yes => value,
                Truth::No => other,
                Truth::Unknown if other.truth() == Truth::Yes => other,
                Truth::Unknown => Value::Unknown,
            };
        }
        self.depth -= 1;
        value
    }

    fn both(&mut self, tokens: &mut Tokens) -> Value {
        let mut value = self.compared(tokens);
        while tokens.next_if_eq(&Token::Sign("&&")).is_some() {
            let other = self.compared(tokens);
            value = match value.truth() {
                Truth::Yes => other,
                Truth::No => value,
                Truth::Unknown if other.truth() == Truth::No => other,
                Truth::Unknown => Value::Unknown,
            };
        }
        value
    }

    fn compared(&mut self, tokens: &mut Tokens) -> Value {
        let left = self.single(tokens);
        let signs = ["==", "!=", ">=", "<=", ">", "<"];
        let Some(Token::Sign(sign)) =
            tokens.next_if(|token| matches!(token, Token::Sign(sign) if signs.contains(sign)))
        else {
            return left;
        };
        let right = self.single(tokens);
        Value::Truth(compare(&left, sign, &right))
    }

    fn single(&mut self, tokens: &mut Tokens) -> Value {
        match tokens.next() {
            Some(Token::Sign("!")) => {
                let inner = self.single(tokens);
                // A repository is not asked whether it is a fork of itself.
                Value::Truth(match (&inner, inner.truth()) {
                    (Value::Fitting, _) | (_, Truth::Unknown) => Truth::Unknown,
                    (_, Truth::Yes) => Truth::No,
                    (_, Truth::No) => Truth::Yes,
                })
            }
            Some(Token::Sign("(")) => {
                let inner = self.either(tokens);
                tokens.next_if_eq(&Token::Sign(")")).map_or(Value::Unknown, |_| inner)
            }
            Some(Token::Text(text)) => Value::Text(text),
            Some(Token::Name(name)) => {
                if tokens.next_if_eq(&Token::Sign("(")).is_some() {
                    self.called(&name, tokens)
                } else {
                    self.named(&name)
                }
            }
            Some(Token::Sign(_)) | None => Value::Unknown,
        }
    }

    fn called(&mut self, name: &str, tokens: &mut Tokens) -> Value {
        let mut arguments = Vec::new();
        while tokens.next_if_eq(&Token::Sign(")")).is_none() {
            if tokens.peek().is_none() || arguments.len() > 4 {
                return Value::Unknown;
            }
            arguments.push(self.either(tokens));
            tokens.next_if_eq(&Token::Sign(","));
        }
        let truth = match (name, arguments.as_slice()) {
            ("always" | "success", []) => Truth::Yes,
            ("failure" | "cancelled", []) => Truth::No,
            (_, [Value::Text(text), Value::Text(part)]) => {
                let (text, part) = (text.to_lowercase(), part.to_lowercase());
                let holds = match name {
                    "startsWith" => text.starts_with(&part),
                    "endsWith" => text.ends_with(&part),
                    "contains" => text.contains(&part),
                    _ => return Value::Unknown,
                };
                if holds { Truth::Yes } else { Truth::No }
            }
            _ => Truth::Unknown,
        };
        Value::Truth(truth)
    }

    fn named(&self, name: &str) -> Value {
        let text = |text: &str| Value::Text(text.to_owned());
        match name {
            "true" => Value::Truth(Truth::Yes),
            "false" => Value::Truth(Truth::No),
            "null" => text(""),
            "runner.os" => text("Linux"),
            "runner.arch" => text("X64"),
            "github.event_name" => text("pull_request"),
            "github.event.pull_request.draft" => text("false"),
            "github.event.action" => text("synchronize"),
            "github.actor" | "github.triggering_actor" => text("a person"),
            "github.repository" | "github.repository_owner" => Value::Fitting,
            _ if name.starts_with(|c: char| c.is_ascii_digit()) => text(name),
            _ if name.starts_with("github.event.repository.")
                || name.starts_with("github.event.pull_request.head.repo")
                || name.starts_with("needs.") =>
            {
                Value::Fitting
            }
            _ => self.leg.value(name).map_or(Value::Unknown, Value::Text),
        }
    }
}

fn compare(left: &Value, sign: &str, right: &Value) -> Truth {
    let (left, right) = match (left, right) {
        (Value::Fitting, _) | (_, Value::Fitting) => {
            return if sign == "==" { Truth::Yes } else { Truth::Unknown };
        }
        (Value::Unknown, _) | (_, Value::Unknown) => return Truth::Unknown,
        (left, right) => (plain(left), plain(right)),
    };
    let (Some(left), Some(right)) = (left, right) else { return Truth::Unknown };
    let numbers = left.parse::<f64>().ok().zip(right.parse::<f64>().ok());
    let order = match numbers {
        Some((left, right)) => left.partial_cmp(&right),
        None => Some(left.cmp(&right)),
    };
    let Some(order) = order else { return Truth::Unknown };
    let holds = match sign {
        "==" => order.is_eq(),
        "!=" => order.is_ne(),
        ">=" => order.is_ge(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        _ => order.is_lt(),
    };
    if holds { Truth::Yes } else { Truth::No }
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.to_lowercase()),
        Value::Truth(Truth::Yes) => Some("true".to_owned()),
        Value::Truth(Truth::No) => Some("false".to_owned()),
        Value::Truth(Truth::Unknown) | Value::Fitting | Value::Unknown => None,
    }
}
