//! A table of what a policy should say: written beside it, and checked by `lamp policy test`.
//!
//! ```yaml
//! version: 1
//! policy: policy.yaml
//! expect:
//!   - { url: "https://github.com/acme/shop", phase: research, expect: allow, by: github }
//!   - { url: "https://paste.example.com/", method: POST, phase: implement, expect: deny }
//! ```

use domain::policy::EgressPhase;

use crate::{
    names::{FilePath, Text},
    problem::{InvalidFile, Problems},
    shape::{Shape, known_words, record, words},
    version::Version,
    yaml::Node,
};

known_words! { EgressPhase;
    Setup = "setup": ["While an image is built."],
    Research = "research": ["While an agent reads and plans."],
    Implement = "implement": ["While an agent works, and while checks run."],
    Review = "review": ["While the second agent reviews."],
}

words! {
    /// What should become of a request.
    pub enum Expected {
        /// It leaves, as far as the rules are concerned.
        Allow = "allow",
        /// It does not.
        Deny = "deny",
    }
}

record! {
    /// What one or several policies should say.
    pub struct ExpectationsFile {
        /// The version of this format.
        version: Version,
        /// The security team's file, beside this one. Left out: what holds where nobody has written a policy.
        policy: Option<FilePath> = None,
        /// The server's file, beside this one.
        server: Option<FilePath> = None,
        /// An agent's file, beside this one.
        agent: Option<FilePath> = None,
        /// The table.
        expect: Vec<Expectation>,
    }
    look = look;
}

record! {
    /// One row of the table.
    pub struct Expectation {
        /// The address.
        url: Text,
        /// The HTTP method. Left out: `GET`.
        method: Option<Text> = None,
        /// The phase.
        phase: EgressPhase,
        /// What should become of it.
        expect: Expected,
        /// The rule or layer that should decide, as `lamp policy explain` prints it.
        by: Option<Text> = None,
    }
}

fn look(node: &Node, problems: &mut Problems) {
    if let Some(empty) = node.get("expect").filter(|it| it.is_empty_list()) {
        problems.report(
            empty.place,
            "`expect` is an empty list, so nothing is tested",
            "add a row",
        );
    }
}

impl ExpectationsFile {
    /// Reads a table, or tells every problem of it. `path_name` is what messages call it.
    pub fn check(path_name: &str, text: &str) -> Result<Self, InvalidFile> {
        let mut problems = Problems::in_file(path_name);
        let read = crate::file::root(text, None, &mut problems)
            .and_then(|root| Self::read(&root, &mut problems));
        problems.settle(read)
    }
}
