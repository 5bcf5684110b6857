//! Takes the values of secrets out of what agents say, before it is kept or shown to anybody (CR2).
//!
//! The engine has no secrets. Whoever builds it plugs in somebody who knows them.

use std::fmt;

pub trait Redactor: fmt::Debug + Send + Sync {
    /// A whole text, without values. Who cannot know the values gives nothing of the text, not all of it.
    fn clean(&self, text: &str) -> String;

    /// For a text that comes in parts.
    fn parts(&self) -> Box<dyn Cleaner>;
}

/// Takes values out of one text that comes in parts, also a value that begins in one and ends in another.
pub trait Cleaner: Send {
    /// Takes a part, and gives what is certain: what may be the beginning of a value is held back.
    fn feed(&mut self, part: &str) -> String;

    /// Nothing has come for a while, and somebody watches: gives a beginning that is too short to tell anything. If the rest of
    /// the value comes, that is removed.
    fn release(&mut self) -> String;

    /// The rest. Nothing is fed afterwards.
    fn finish(&mut self) -> String;
}

/// For a world without secrets.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSecrets;

impl Redactor for NoSecrets {
    fn clean(&self, text: &str) -> String {
        text.to_owned()
    }

    fn parts(&self) -> Box<dyn Cleaner> {
        Box::new(Self)
    }
}

impl Cleaner for NoSecrets {
    fn feed(&mut self, part: &str) -> String {
        part.to_owned()
    }

    fn release(&mut self) -> String {
        String::new()
    }

    fn finish(&mut self) -> String {
        String::new()
    }
}
