//! Turns tool noise (tests, linters, compilers) into findings that an agent can act on.
//!
//! What tools print is written by whoever wrote the code that they ran, so every byte of it is hostile: it is looked at up to a limit, cut at
//! limits, and never believed to say more than "this is what was printed". Whether a check passed is its exit code, not its words.
//!
//! | module | what it is for |
//! |---|---|
//! | [`read()`] | what a check printed becomes a report |
//! | [`Report::brief`](report::Report::brief) | what of it goes back to an agent |
//! | [`report`] | all that a run of a check found, within limits |
//! | [`finding`] | one thing that a tool found |
//! | [`test`] | one test, and how it ended |
//! | [`place`] | files of the workspace, and places in them |
//! | [`Names`], [`Reach`] | what a report does not tell |
//! | [`text`] | text that cannot be longer than its limit, nor steer a terminal |
//! | [`ask`] | how runners are asked for a report that names every test |
//! | [`missing`] | what a check could not find |
//! | [`checks`] | which checks a repository has |
//! | [`verdict`] | what two reports say about a change |
//!
//! Who speaks is found out by [`read()`]; [`parse()`] is told. Parsers are in `rust`, `python`, `javascript`, `go`, `compiler`, `tap`, `junit` and
//! `sarif`; `documents` finds JSON and XML in what was printed, and `fallback` reads what nobody knows.

pub mod ask;
mod brief;
pub mod checks;
mod compiler;
mod documents;
mod fallback;
pub mod finding;
mod format;
mod go;
mod javascript;
mod json;
mod junit;
mod limits;
mod located;
pub mod location;
pub mod missing;
mod naming;
mod output;
mod python;
mod read;
pub mod report;
mod rust;
mod sarif;
mod tally;
mod tap;
pub mod test;
pub mod text;
pub mod verdict;

pub use format::{Format, parse};
pub use naming::{Names, Reach};
pub use output::STREAM_BYTES;
pub use read::{Exit, Run, Source, read, read_written, source};
