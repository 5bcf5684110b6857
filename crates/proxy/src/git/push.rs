//! A push from its first byte to its last: what may be sent on, and when.
//!
//! Feed the body (without its chunks) to [`Push::read`], send what it gives, and at the end send what [`Push::finish`] gives. Nothing is
//! given before the list of updates is read and allowed. The last bytes of the pack are given only by `finish`, when every update
//! is shown to go forwards; without them the server takes nothing.

use super::{
    commands::{self, CommandList, ListError, ObjectFormat},
    pack::{Pack, PackError},
};

/// What may be pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed {
    /// Without `refs/heads/`.
    pub branches: Vec<String>,
    /// The most bytes of the pack.
    pub most_pack: u64,
}

/// Why a push is refused. Each is a sentence for whoever reads the terminal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    #[error("the push cannot be read: {0}")]
    List(#[from] ListError),
    #[error("the push cannot be read: {0}")]
    Pack(#[from] PackError),
    #[error("`{reference}` is not this task's to push; push to {allowed}")]
    Reference { reference: String, allowed: String },
    #[error("`{0}` may not be deleted")]
    Delete(String),
    #[error(
        "`{0}` only moves forwards: commit on top of what the server has, and push without force"
    )]
    NotForwards(String),
    #[error("push options are not carried; push without them")]
    Options,
    #[error("the pack is larger than {0} bytes")]
    TooLarge(u64),
    #[error("the body of the push is compressed; git sends it plainly")]
    Compressed,
    #[error("the push ends before its list of updates does")]
    Incomplete,
}

/// A push that is being read.
#[derive(Debug)]
pub struct Push {
    allowed: Allowed,
    stage: Stage,
    list: Option<CommandList>,
    /// Bytes that are not given yet: the list while it is not whole, later the last ones of the pack.
    held: Vec<u8>,
    pack_bytes: u64,
}

#[derive(Debug)]
enum Stage {
    /// How many of the bytes are lines that have been looked at.
    List {
        looked_at: usize,
    },
    Pack(Box<Pack>),
    /// A question without updates: nothing may follow.
    Question,
    Refused(PushError),
}

impl Push {
    /// `content_encoding` is the request's header.
    pub fn new(allowed: Allowed, content_encoding: Option<&str>) -> Result<Self, PushError> {
        match content_encoding {
            None | Some("identity") => Ok(Self {
                allowed,
                stage: Stage::List { looked_at: 0 },
                list: None,
                held: Vec::new(),
                pack_bytes: 0,
            }),
            Some(_) => Err(PushError::Compressed),
        }
    }

    /// What the push wants to update, once it is known. A refusal is written in its terms.
    pub fn list(&self) -> Option<&CommandList> {
        self.list.as_ref()
    }

    /// Reads the next bytes of the body, and gives those that may be sent on.
    ///
    /// After an error, nothing may be sent on any more, and the body is read over to its end before it is answered.
    pub fn read(&mut self, bytes: &[u8]) -> Result<Vec<u8>, PushError> {
        let given = self.advance(bytes);
        if let Err(error) = &given {
            self.stage = Stage::Refused(error.clone());
            self.held = Vec::new();
        }
        given
    }

    /// The body has ended: gives the bytes that were held back, if every update goes forwards.
    pub fn finish(&mut self) -> Result<Vec<u8>, PushError> {
        match &self.stage {
            Stage::List { .. } => return Err(PushError::Incomplete),
            Stage::Question => {}
            Stage::Refused(error) => return Err(error.clone()),
            Stage::Pack(pack) => {
                pack.finish()?;
                for command in self.list.iter().flat_map(|list| &list.commands) {
                    if !command.old.is_zero() && !pack.leads(&command.new, &command.old) {
                        return Err(PushError::NotForwards(branch(&command.reference).to_owned()));
                    }
                }
            }
        }
        Ok(std::mem::take(&mut self.held))
    }

    fn advance(&mut self, bytes: &[u8]) -> Result<Vec<u8>, PushError> {
        match &mut self.stage {
            Stage::Refused(error) => Err(error.clone()),
            Stage::Question if bytes.is_empty() => Ok(Vec::new()),
            Stage::Question => Err(PushError::Pack(PackError::Trailing)),
            Stage::Pack(pack) => {
                self.pack_bytes += bytes.len() as u64;
                if self.pack_bytes > self.allowed.most_pack {
                    return Err(PushError::TooLarge(self.allowed.most_pack));
                }
                pack.read(bytes)?;
                self.held.extend_from_slice(bytes);
                // The longest trailer of a pack: without it, a pack is not whole.
                let given = self.held.len().saturating_sub(ObjectFormat::Sha256.bytes());
                let rest = self.held.split_off(given);
                Ok(std::mem::replace(&mut self.held, rest))
            }
            Stage::List { looked_at } => {
                self.held.extend_from_slice(bytes);
                if !commands::is_whole(&self.held, looked_at)? {
                    return Ok(Vec::new());
                }
                let Some((list, used)) = commands::read(&self.held)? else {
                    return Ok(Vec::new());
                };
                self.list = Some(list.clone());
                self.judge(&list)?;
                self.stage = if list.commands.is_empty() {
                    Stage::Question
                } else {
                    Stage::Pack(Box::new(Pack::new(list.format)))
                };
                let following = self.held.split_off(used);
                let mut given = std::mem::take(&mut self.held);
                given.extend(self.advance(&following)?);
                Ok(given)
            }
        }
    }

    fn judge(&self, list: &CommandList) -> Result<(), PushError> {
        // To some servers an option is an order, such as to merge.
        if list.has("push-options") {
            return Err(PushError::Options);
        }
        for command in &list.commands {
            let name = command.reference.strip_prefix("refs/heads/");
            if !name.is_some_and(|name| self.allowed.branches.iter().any(|branch| branch == name)) {
                let reference = branch(&command.reference).to_owned();
                return Err(PushError::Reference { reference, allowed: self.allowed.told() });
            }
            if command.new.is_zero() {
                return Err(PushError::Delete(branch(&command.reference).to_owned()));
            }
        }
        Ok(())
    }
}

impl Allowed {
    fn told(&self) -> String {
        match self.branches.as_slice() {
            [] => "nothing".to_owned(),
            branches => {
                branches.iter().map(|branch| format!("`{branch}`")).collect::<Vec<_>>().join(" or ")
            }
        }
    }
}

fn branch(reference: &str) -> &str {
    reference.strip_prefix("refs/heads/").unwrap_or(reference)
}
