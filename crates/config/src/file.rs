//! From text to a typed file: which kind it is, and what is wrong with it.

use std::fmt;

use serde_json::Value;

use crate::{
    agent::AgentFile,
    nearest::nearest,
    policy::PolicyFile,
    problem::{InvalidFile, Place, Problems},
    secret,
    server::ServerFile,
    shape::{Kind, Shape},
    yaml::{self, Content, Node},
};

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;

/// A file that has been read, with nothing wrong in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Checked {
    Server(Box<ServerFile>),
    Agent(Box<AgentFile>),
    Policy(Box<PolicyFile>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    Server,
    Agent,
    Policy,
}

/// Reads a file of any kind. `path_name` is what messages call it, and helps to
/// tell its kind.
pub fn check(path_name: &str, text: &str) -> Result<Checked, InvalidFile> {
    let mut problems = Problems::in_file(path_name);
    let Some(root) = root(text, FileKind::by_path(path_name), &mut problems) else {
        return problems.settle(None);
    };
    let Some(kind) = kind_of(path_name, &root) else {
        let what = "cannot tell which kind of file this is";
        let help = "name it `lamp.yaml` or `policy.yaml`, or put it into a directory `agents`";
        problems.report(Place::START, what, help);
        return problems.settle(None);
    };
    read_as(kind, &root, problems)
}

/// Reads a file whose kind is known.
pub fn check_as(kind: FileKind, path_name: &str, text: &str) -> Result<Checked, InvalidFile> {
    let mut problems = Problems::in_file(path_name);
    match root(text, Some(kind), &mut problems) {
        Some(root) => read_as(kind, &root, problems),
        None => problems.settle(None),
    }
}

pub(crate) fn kind_of(path_name: &str, root: &Node) -> Option<FileKind> {
    FileKind::by_path(path_name).or_else(|| FileKind::by_keys(root))
}

fn read_as(kind: FileKind, root: &Node, mut problems: Problems) -> Result<Checked, InvalidFile> {
    let read = match kind {
        FileKind::Server => {
            ServerFile::read(root, &mut problems).map(Box::new).map(Checked::Server)
        }
        FileKind::Agent => AgentFile::read(root, &mut problems).map(Box::new).map(Checked::Agent),
        FileKind::Policy => {
            PolicyFile::read(root, &mut problems).map(Box::new).map(Checked::Policy)
        }
    };
    problems.settle(read)
}

pub(crate) fn root(text: &str, kind: Option<FileKind>, problems: &mut Problems) -> Option<Node> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root = yaml::parse(text, problems);
    let is_empty = root.as_ref().is_none_or(|it| matches!(it.content, Content::Nothing));
    if is_empty {
        if problems.is_empty() {
            let help = match kind {
                Some(FileKind::Agent) => "begin with `lamp: { version: 1, name: … }`",
                Some(FileKind::Server | FileKind::Policy) | None => "begin with `version: 1`",
            };
            problems.report(Place::START, "the file is empty", help);
        }
        return None;
    }
    let root = root?;
    report_secrets(&root, problems);
    Some(root)
}

/// A credential is a problem wherever it stands, even below a key that nobody knows.
fn report_secrets(node: &Node, problems: &mut Problems) {
    if node.text().is_some_and(secret::looks_like_one) {
        problems.report(node.place, "this looks like a secret", secret::HELP);
    }
    node.items().iter().for_each(|item| report_secrets(item, problems));
    node.entries().iter().for_each(|entry| report_secrets(&entry.value, problems));
}

impl FileKind {
    pub const ALL: [Self; 3] = [Self::Server, Self::Agent, Self::Policy];

    /// By the usual names.
    pub fn by_path(path: &str) -> Option<Self> {
        let mut parts = path.rsplit(['/', '\\']);
        let name = parts.next()?;
        let directory = parts.next();
        match name {
            "lamp.yaml" | "lamp.yml" => Some(Self::Server),
            "policy.yaml" | "policy.yml" => Some(Self::Policy),
            _other if directory == Some("agents") => Some(Self::Agent),
            _other => None,
        }
    }

    /// By the keys at the top, of which one kind must know the most.
    fn by_keys(root: &Node) -> Option<Self> {
        let known = |kind: Self| {
            let keys = kind.keys();
            let is_known = |key: &str| keys.contains(&key) || nearest(key, &keys).is_some();
            root.entries().iter().filter(|entry| is_known(&entry.key)).count()
        };
        let mut counted: Vec<(usize, Self)> = Self::ALL.map(|kind| (known(kind), kind)).to_vec();
        counted.sort_by(|one, other| other.cmp(one));
        match counted.as_slice() {
            [(first, _), (second, _), ..] if first == second => None,
            [(_, kind), ..] => Some(*kind),
            [] => None,
        }
    }

    pub(crate) fn shape(self) -> Kind {
        match self {
            Self::Server => ServerFile::kind(),
            Self::Agent => AgentFile::kind(),
            Self::Policy => PolicyFile::kind(),
        }
    }

    fn keys(self) -> Vec<&'static str> {
        match self.shape() {
            Kind::Record(record) => record.fields.iter().map(|field| field.key).collect(),
            Kind::Text(_)
            | Kind::Value(_)
            | Kind::Number { .. }
            | Kind::Decimal(_)
            | Kind::Flag
            | Kind::Words(_)
            | Kind::List(_)
            | Kind::Choice { .. }
            | Kind::ShortOrLong { .. } => Vec::new(),
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Agent => "agent",
            Self::Policy => "policy",
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Checked {
    pub const fn kind(&self) -> FileKind {
        match self {
            Self::Server(_) => FileKind::Server,
            Self::Agent(_) => FileKind::Agent,
            Self::Policy(_) => FileKind::Policy,
        }
    }

    /// The file with all defaults filled in, in the notation of the files.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Server(file) => file.write(),
            Self::Agent(file) => file.write(),
            Self::Policy(file) => file.write(),
        }
    }
}
