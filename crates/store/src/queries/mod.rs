//! What can be asked. Nothing here changes anything.

pub(crate) mod history;
pub(crate) mod places;
pub(crate) mod queue;
pub(crate) mod tasks;
pub(crate) mod transcript;
