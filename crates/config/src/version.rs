//! The version of a file's format.

use serde_json::Value;

use crate::{
    problem::Problems,
    shape::{Kind, Shape, report_mismatch},
    yaml::Node,
};

/// There has been one so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    One,
}

impl Shape for Version {
    fn read(node: &Node, problems: &mut Problems) -> Option<Self> {
        if node.text() == Some("1") {
            return Some(Self::One);
        }
        let help = "write `1`; a newer version needs a newer `lamp`";
        report_mismatch(node, "`1`", help, problems);
        None
    }

    fn kind() -> Kind {
        Kind::Number { least: 1, most: 1 }
    }

    fn write(&self) -> Value {
        match self {
            Self::One => 1.into(),
        }
    }
}
