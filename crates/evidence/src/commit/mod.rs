//! What git keeps of a task: the name of its branch, the messages of its commits, and a note that leads back from a line of code.
//!
//! Texts of agents become titles and messages here. They stay what they are, texts: they mention nobody, close no issue, and add no trailer.

mod message;
mod note;
mod plain;
mod trailers;

pub use crate::branch::{Branch, BranchError, BranchTemplate, TemplateFault};
pub use message::{Identity, IdentityError, Message, title};
pub use note::{NOTE_LIMIT, Note, NoteError};
pub use trailers::Trailers;
