//! What a body says, as far as a rule has to know it: names and numbers, cut short, and nothing else of it.
//!
//! The proxy reads bodies, because whoever sends them is hostile; the broker judges, because it has the rules. Between them goes what is
//! here. The proxy does not know which names matter: it names what stands there, and the broker compares.
//!
//! **Invariant:** whatever a body is, what is said about it is within [`super::bounds`]. What is cut is longer than any name in a rule, so
//! that no cut name is taken for another.

use serde::{Deserialize, Serialize};

use super::Dialect;

/// The longest sentence about a body, in bytes.
pub const SENTENCE_LIMIT: usize = 512;

/// The longest name out of a body, in bytes: of a field, a model, a kind of tool.
pub const NAME_LIMIT: usize = 128;

/// The longest branch out of a body, in bytes.
pub const BRANCH_LIMIT: usize = 1024;

/// The most fields of one mutation.
pub const FIELDS_LIMIT: usize = 64;

/// The most kinds of tools of one request.
pub const TOOLS_LIMIT: usize = 64;

/// In which language a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Language {
    /// One operation of GraphQL, as GitHub takes it.
    Graphql,
    /// JSON that opens a pull request, as GitHub's REST takes it.
    PullRequest,
    /// JSON that asks something of a model.
    Model(Dialect),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// It is not the language, or could be read in two ways. A sentence without its full stop.
    Unreadable(String),
    Graphql(Operation),
    PullRequest(Origin),
    Model(ModelBody),
}

/// One operation of GraphQL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// What it reads is for the token to say, so its fields are not told.
    Query,
    /// The fields at its root, out of all fragments, in order.
    Mutation(Vec<RootField>),
    Subscription,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootField {
    /// The field itself, whatever it is called in the answer.
    pub name: String,
    /// From where its input opens a pull request; of most fields nothing.
    pub from: Origin,
}

/// From where a pull request is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Origin {
    /// `branch`, or `owner:branch`.
    Branch(String),
    /// Another repository, or what somebody else wrote.
    Elsewhere,
    /// It does not say.
    Nothing,
    /// It cannot be told, for this reason: a sentence without its full stop.
    Unclear(String),
}

/// What a request asks of a model, and whether it would reach further than the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelBody {
    pub model: Option<String>,
    /// The most that the answer may have.
    pub most_output_tokens: Option<u64>,
    pub bytes: u64,
    /// The first key by which the provider is told to connect to others.
    pub connects: Option<Connects>,
    /// The kinds of its tools, each once, in the order in which they stand. A tool without a kind is the sandbox's own, and is not told.
    pub tools: Vec<String>,
    /// The first content that the provider is told to fetch.
    pub fetches: Option<Fetches>,
}

/// Keys that have a provider reach further than any tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Connects {
    McpServers,
    WebSearchOptions,
    Plugins,
}

/// Content that is an address instead of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fetches {
    SourceUrl,
    ImageUrl,
    FileUrl,
    FileData,
}

impl Said {
    /// Why it cannot be read, cut short.
    pub fn unreadable(why: &str) -> Self {
        Self::Unreadable(cut(why, SENTENCE_LIMIT))
    }
}

impl Origin {
    pub(crate) fn unclear(why: &str) -> Self {
        Self::Unclear(cut(why, SENTENCE_LIMIT))
    }
}

impl Connects {
    pub const ALL: [Self; 3] = [Self::McpServers, Self::WebSearchOptions, Self::Plugins];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::McpServers => "mcp_servers",
            Self::WebSearchOptions => "web_search_options",
            Self::Plugins => "plugins",
        }
    }
}

impl Fetches {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SourceUrl => "source.url",
            Self::ImageUrl => "image_url",
            Self::FileUrl => "file_url",
            Self::FileData => "fileData",
        }
    }
}

/// At most `most` bytes of a hostile text, on one line.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut short = String::new();
    for letter in text.chars() {
        let letter = if letter.is_control() { ' ' } else { letter };
        if short.len() + letter.len_utf8() > most {
            break;
        }
        short.push(letter);
    }
    short
}
