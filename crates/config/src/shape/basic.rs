//! Lists, values that may be left out, and plain numbers.

use serde_json::Value;

use crate::{
    problem::Problems,
    shape::{Kind, Shape, report_mismatch},
    yaml::{Content, Node, Style},
};

impl<T: Shape> Shape for Option<T> {
    fn read(node: &Node, problems: &mut Problems) -> Option<Self> {
        T::read(node, problems).map(Some)
    }

    fn kind() -> Kind {
        T::kind()
    }

    fn write(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::write)
    }
}

impl<T: Shape> Shape for Vec<T> {
    fn read(node: &Node, problems: &mut Problems) -> Option<Self> {
        let Content::List(items) = &node.content else {
            report_mismatch(node, "a list", "write `[a, b]`, or one `- item` per line", problems);
            return None;
        };
        // Every item is read, so that the second wrong one is told too.
        let mut read = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if problems.are_many() {
                return None;
            }
            read.push(problems.below(&index.to_string(), |problems| T::read(item, problems)));
        }
        read.into_iter().collect()
    }

    fn kind() -> Kind {
        Kind::List(Box::new(T::kind()))
    }

    fn write(&self) -> Value {
        self.iter().map(T::write).collect()
    }
}

/// A whole number between two bounds, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count<const LEAST: u64, const MOST: u64>(u64);

impl<const LEAST: u64, const MOST: u64> Count<LEAST, MOST> {
    /// The closest number within the bounds.
    pub const fn nearest_to(number: u64) -> Self {
        if number < LEAST {
            return Self(LEAST);
        }
        if number > MOST { Self(MOST) } else { Self(number) }
    }

    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const LEAST: u64, const MOST: u64> Shape for Count<LEAST, MOST> {
    fn read(node: &Node, problems: &mut Problems) -> Option<Self> {
        let number = match &node.content {
            Content::Text { text, style: Style::Plain } => text.parse().ok(),
            Content::Text { style: Style::Quoted, .. }
            | Content::List(_)
            | Content::Section(_)
            | Content::Nothing
            | Content::Broken => None,
        };
        let within = number.filter(|number| (LEAST..=MOST).contains(number));
        if within.is_none() {
            let wanted = format!("a whole number from {LEAST} to {MOST}");
            let help = format!("write {wanted}, without quotes");
            report_mismatch(node, &wanted, help, problems);
        }
        within.map(Self)
    }

    fn kind() -> Kind {
        Kind::Number { least: LEAST, most: MOST }
    }

    fn write(&self) -> Value {
        self.0.into()
    }
}
