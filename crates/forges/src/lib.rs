//! Where code lives: GitHub and plain git; branches, pull requests, checks, comments.

pub mod inspection;
pub mod shown;
