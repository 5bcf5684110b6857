//! Names and short texts that files are made of.
//!
//! Each is a type that cannot be wrong. Those that the domain knows come from
//! there and get only their shape here.

use std::{fmt, str::FromStr};

use domain::{
    agent::AgentName,
    code::{Access, RepositoryName},
    policy::{Approver, Autonomy, HostName},
};

use crate::{
    problem::Problems,
    shape::{Count, Kind, Shape, known_words, text},
    yaml::Node,
};

text!(foreign AgentName, "an agent's name", help = "write it as `fix-issue`", pattern = "^[a-z][a-z0-9-]{0,63}$");
text!(foreign RepositoryName, "a repository", help = "write it as `web` or `owner/web`");
text!(foreign Approver, "an approver", help = "write it as `team:web`, `user:ann` or `role:approver`", pattern = "^(user|team|role):.+$");
text!(foreign HostName, "a host", help = "write it as `api.example.com`");

known_words! { Access;
    Write = "write": ["The task's branch may be pushed to it, after the gate."],
    Read = "read": ["It is there to be read."],
}

impl Shape for Autonomy {
    fn read(node: &Node, problems: &mut Problems) -> Option<Self> {
        Count::<1, 3>::read(node, problems).and_then(|phase| Self::of_phase(phase.get()))
    }

    fn kind() -> Kind {
        Count::<1, 3>::kind()
    }

    fn write(&self) -> serde_json::Value {
        self.phase().into()
    }
}

/// Why a text is not what it should be. The form's help line says the rest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TextError(String);

macro_rules! plain_text {
    ($(#[doc = $about:literal])+ $name:ident, $called:literal, help = $help:literal, $is_one:expr) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = TextError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let is_one: fn(&str) -> bool = $is_one;
                if is_one(text) {
                    return Ok(Self(text.to_owned()));
                }
                Err(TextError(format!("{} is not {}", $crate::problem::quoted(text), $called)))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        text!($name, $called, help = $help);
    };
}

plain_text! {
    /// A sentence or two for people.
    Text, "a text", help = "write some words; put them in quotes if they contain `: ` or ` #`",
    |text| !text.trim().is_empty() && text.len() <= 10_000
}
plain_text! {
    /// A name of one's own for a check, a service, a label and the like.
    Label, "a name of 1 to 100 characters on one line", help = "write it as `tests`",
    |text| !text.trim().is_empty() && text.chars().count() <= 100 && !text.contains(char::is_control)
}
plain_text! {
    /// A name that is used as an identifier: a service, an internal host.
    PlainName, "a name of lower-case letters, digits and `-`", help = "write it as `build-cache`",
    |text| text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}
plain_text! {
    /// A command line or a script, run by the shell inside the sandbox.
    Script, "a command or a script", help = "write it as `make test`, or after `|` on lines of its own",
    |text| !text.trim().is_empty() && text.len() <= 100_000
}
plain_text! {
    /// The name of an environment variable.
    VariableName, "a variable's name", help = "write it as `LOG_LEVEL`: letters, digits and `_`, not beginning with a digit",
    |text| text.len() <= 200 && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
plain_text! {
    /// A model, as its provider calls it.
    ModelName, "a model's name", help = "write it as its provider does, for example `claude-sonnet-4-5`",
    |text| !text.is_empty() && text.len() <= 200 && !text.contains(char::is_whitespace)
}
plain_text! {
    /// The account of a bot that may start tasks.
    BotName, "a bot's account", help = "write it as `dependabot[bot]`",
    |text| !text.is_empty() && text.len() <= 100 && !text.contains(char::is_whitespace)
}
plain_text! {
    /// A person's or a program's name, as git keeps it in a commit.
    PersonName, "a name that git can keep", help = "write it as `Ann Example`: one line of at most 100 bytes, without `<` and `>`",
    |text| !text.is_empty() && text.len() <= 100 && text.trim() == text && !text.contains(['<', '>'])
        && text.chars().all(|c| domain::visible::is_visible(c) && c != '\n' && c != '\t')
        && text.contains(char::is_alphanumeric)
}
plain_text! {
    /// An address of mail, as git keeps it in a commit.
    MailAddress, "an address of mail", help = "write it as `ann@example.com`: letters, digits and `._%+-[]` around one `@`",
    |text| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._%+-[]".contains(&byte);
        let is_part = |part: &str| part.contains(|c: char| c.is_ascii_alphanumeric()) && part.bytes().all(plain);
        text.len() <= 200 && text.split_once('@').is_some_and(|(who, host)| is_part(who) && is_part(host))
    }
}
plain_text! {
    /// A path in the repository, or beside the file that names it.
    FilePath, "a path", help = "write it as `reports/junit.xml`",
    |text| !text.is_empty() && text.len() <= 1000 && !text.contains(char::is_control)
}
plain_text! {
    /// When to start, as cron has it: minute, hour, day, month, weekday.
    Schedule, "a schedule", help = "write five fields, as `0 3 * * 1-5` for three o'clock on working days",
    |text| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "*/,-#?".contains(c);
        text.split_whitespace().count() == 5 && text.chars().all(|c| allowed(c) || c == ' ')
    }
}
