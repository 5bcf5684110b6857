//! What holds for the tree as a whole: who may use whom, what we build on, and that documents tell the truth.
//!
//! ```text
//!  rooms      the table in ARCHITECTURE.md   against  cargo metadata
//!  supply     deny.toml                      against  cargo tree
//!  promises   docs/PROMISES.md               against  the tests that it names
//!  glossary   docs/GLOSSARY.md               against  the code that its words are about
//!  links      every relative markdown link   against  the files and headings it points at
//!  tidy       every file that git would commit: small rules that a reviewer should not have to remember
//! ```
//!
//! The documents are parsed, not repeated here, so that a document and the code cannot disagree for longer
//! than one test run.
#![cfg(test)]

mod glossary;
mod links;
mod promises;
mod rooms;
mod supply;
mod table;
mod tidy;
mod tree;
