//! How a repository was handed over to whoever works in a sandbox, where that is not as in its commit.
//!
//! What an image's setup or a hook leaves in a checkout is not the work of the agent that finds it there. So what is there before
//! the agent begins is written down outside, and what is still the same in the end is not taken for its change.

/// All that was different when a sandbox was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandedOver {
    /// What is not as in the commit.
    pub touched: Vec<Leftover>,
    /// Files of the commit that a setup had changed, and that are as in the commit again: some of their names.
    pub restored: Vec<String>,
    /// What there was no room for in these lists.
    pub left_off: u64,
}

/// One path that was handed over otherwise than it is in the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub path: String,
    /// In the commit; nothing, if it is not in it.
    pub before: Option<Content>,
    /// As it was handed over; nothing, if it was gone.
    pub after: Option<Content>,
}

/// What git knows a file by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Six octal digits.
    pub mode: String,
    /// The hash of the object.
    pub object: String,
}

impl HandedOver {
    /// Whether all of it is as in the commit, and always was.
    pub const fn is_as_committed(&self) -> bool {
        self.touched.is_empty() && self.restored.is_empty() && self.left_off == 0
    }
}
