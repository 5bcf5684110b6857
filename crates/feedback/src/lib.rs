//! Turns tool noise (tests, linters, compilers) into findings that an agent can act on.
//!
//! What tools print is written by whoever wrote the code that they ran, so every byte of it is hostile: it is looked at up to a limit, cut at
//! limits, and never believed to say more than "this is what was printed". Whether a check passed is its exit code, not its words.
//!
//! | module | what it is for |
//! |---|---|
//! | [`text`] | text that cannot be longer than its limit, nor steer a terminal |
//! | [`place`] | files of the workspace, and places in them |
//! | [`finding`] | one thing that a tool found |
//! | [`test`] | one test, and how it ended |
//! | [`report`] | all that a run of a check found, within limits |
//! | [`checks`] | which checks a repository has |
//! | [`verdict`] | what two reports say about a change |

pub mod checks;
pub mod finding;
pub mod place;
pub mod report;
pub mod test;
pub mod text;
pub mod verdict;
