//! What a change does to the tests themselves (FB4), and how much of it they run (FB5).

use feedback::verdict::{coverage::Summary, weakened::Found};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) weakened: Found,
    pub(crate) coverage: Option<Summary>,
}
