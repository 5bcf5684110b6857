//! One check: a command, where it runs, what it tells, and who said so.

use std::fmt;

pub use super::kind::Kind;

/// How sure we are that this is a check, and that it can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// The ecosystem's habit; nobody in this repository wrote it down.
    Guessed,
    /// Somebody wrote it down for people to run.
    Likely,
    /// CI runs it as it stands. Whether it can be run here is another question.
    Certain,
    /// The people of the repository declared it, for us to run.
    Declared,
}

/// A check as it will be run, in a clean sandbox, on one exact commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Unique among the checks of one repository.
    pub name: String,
    pub kind: Kind,
    pub command: CommandLine,
    pub directory: Directory,
    pub why: Why,
    pub confidence: Confidence,
}

/// Who said that this is a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// The file that names it.
    pub file: String,
    /// Why it was chosen, as a sentence that names the file, and the line where one is known.
    pub reason: String,
    /// What was found too, and is not run beside it because it does the same.
    pub instead_of: Vec<InsteadOf>,
}

/// A check that another one stands for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InsteadOf {
    pub command: String,
    pub file: String,
}

/// What a shell inside the sandbox is given. Never empty, never longer than [`CommandLine::LIMIT`], without control characters other
/// than those between lines.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandLine(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    #[error("a command must not be empty")]
    Empty,
    #[error("a command of {0} bytes is longer than {limit}", limit = CommandLine::LIMIT)]
    Long(usize),
    #[error("a command must not contain control characters")]
    Control,
}

/// A directory of the repository. Printed as `.` for the root; never absolute, never a way up.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Directory(String);

impl Check {
    /// A check that people declared. Its kind is what its command or its name says, and a test where neither does.
    pub fn declared(name: String, command: CommandLine, file: String) -> Self {
        let kind = super::classify::kind_of_script(command.as_str())
            .or_else(|| super::names::kind_of(&name))
            .unwrap_or(Kind::Test);
        let reason = format!("`{file}` declares it");
        let why = Why { file, reason, instead_of: Vec::new() };
        let directory = Directory::default();
        Self { name, kind, command, directory, why, confidence: Confidence::Declared }
    }
}

impl Check {
    /// Whether checks after it may need what it leaves: a build does, and a command that is not understood may. Linters and tests leave
    /// nothing that another check is made for.
    pub fn may_be_needed(&self) -> bool {
        self.kind == Kind::Build || !super::classify::only_judges(self.command.as_str())
    }
}

impl CommandLine {
    /// As long as a script in an agent's file may be.
    pub const LIMIT: usize = 100_000;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for CommandLine {
    type Err = CommandLineError;

    fn from_str(text: &str) -> Result<Self, CommandLineError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(CommandLineError::Empty);
        }
        if text.len() > Self::LIMIT {
            return Err(CommandLineError::Long(text.len()));
        }
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err(CommandLineError::Control);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Directory {
    /// Deeper than this nobody looks for checks.
    pub const DEPTH_LIMIT: usize = 4;
    const LENGTH_LIMIT: usize = 300;

    /// The directory that a path below the root names, if it is a plain one.
    pub(super) fn parse(path: &str) -> Option<Self> {
        Self::default().join(path)
    }

    /// Follows a relative path from here. A way out of the repository leads nowhere.
    pub(super) fn join(&self, path: &str) -> Option<Self> {
        if path.starts_with('/')
            || path.contains(|c: char| c.is_control() || "\\$~*?\"'`".contains(c))
        {
            return None;
        }
        let mut words: Vec<&str> = self.words().collect();
        for word in path.split('/') {
            match word {
                "" | "." => {}
                ".." => {
                    words.pop()?;
                }
                word => words.push(word),
            }
        }
        let joined = words.join("/");
        let fits = words.len() <= Self::DEPTH_LIMIT && joined.len() <= Self::LENGTH_LIMIT;
        fits.then_some(Self(joined))
    }

    /// A file in here.
    pub fn file(&self, name: &str) -> String {
        if self.0.is_empty() { name.to_owned() } else { format!("{}/{name}", self.0) }
    }

    /// The directories above, the nearest first.
    pub(super) fn above(&self) -> impl Iterator<Item = Self> {
        let mut rest = Some(self.0.clone());
        std::iter::from_fn(move || {
            let path = rest.take().filter(|path| !path.is_empty())?;
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent).to_owned();
            rest = Some(parent.clone());
            Some(Self(parent))
        })
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|word| !word.is_empty())
    }
}

impl fmt::Display for Directory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)?;
        for (index, other) in self.instead_of.iter().enumerate() {
            let joint = if index == 0 { "; it stands for" } else { " and" };
            write!(f, "{joint} `{}` of `{}`", other.command, other.file)?;
        }
        Ok(())
    }
}
