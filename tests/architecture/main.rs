//! What holds for the tree as a whole: who may use whom, what we build on, and that documents tell the truth.
//!
//! ```text
//!  rooms      the table in ARCHITECTURE.md   against  cargo metadata
//!  problems   who makes the API's refusals
//!  supply     deny.toml                      against  cargo tree
//!  promises   docs/PROMISES.md               against  the tests that it names
//!  cycles     the modules of every room: none needs one that needs it
//!  glossary   docs/GLOSSARY.md               against  the code that its words are about
//!  links      every relative markdown link   against  the files and headings it points at
//!  functions  which of them are tests, and how they end
//!  left_out   what tests/unsupported.txt excuses on CI, and the script that reads it
//!  one_way    things of which there is one: a second would drift
//!  tidy       every file that git would commit: small rules that a reviewer should not have to remember
//! ```
//!
//! The documents are parsed, not repeated here, so that a document and the code cannot disagree for longer
//! than one test run.
#![cfg(test)]

mod cycles;
mod functions;
mod glossary;
mod left_out;
mod links;
mod modules;
mod one_way;
mod problems;
mod promises;
mod rooms;
mod supply;
mod table;
mod tidy;
mod tree;
