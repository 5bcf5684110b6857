//! Values that are written as one piece of text, and parsed by their own type.

use crate::{
    problem::{Problems, quoted},
    secret,
    shape::report_mismatch,
    yaml::{Content, Node},
};

/// What a piece of text looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Form {
    /// With its article: "a duration".
    pub(crate) name: &'static str,
    /// How to write it, for a help line.
    pub(crate) help: &'static str,
    /// A regular expression that JSON Schema understands, if one says it well.
    pub(crate) pattern: Option<&'static str>,
}

/// Gives a shape to types that parse from and print as text.
macro_rules! text {
    ($type:ty, $name:literal, help = $help:literal $(, pattern = $pattern:literal)?) => {
        impl $type {
            /// How one of these is written.
            pub(crate) const FORM: $crate::shape::Form =
                $crate::shape::text!(@form $name, $help $(, $pattern)?);
        }
        $crate::shape::text!(@shape $type, Self::FORM);
    };
    (foreign $type:ty, $name:literal, help = $help:literal $(, pattern = $pattern:literal)?) => {
        $crate::shape::text!(@shape $type, $crate::shape::text!(@form $name, $help $(, $pattern)?));
    };
    (@form $name:literal, $help:literal) => {
        $crate::shape::Form { name: $name, help: $help, pattern: None }
    };
    (@form $name:literal, $help:literal, $pattern:literal) => {
        $crate::shape::Form { name: $name, help: $help, pattern: Some($pattern) }
    };
    (@shape $type:ty, $form:expr) => {
        impl $crate::shape::Shape for $type {
            fn read(
                node: &$crate::yaml::Node,
                problems: &mut $crate::problem::Problems,
            ) -> Option<Self> {
                $crate::shape::read_text(node, $form, problems)
            }

            fn kind() -> $crate::shape::Kind {
                $crate::shape::Kind::Text($form)
            }

            fn write(&self) -> serde_json::Value {
                self.to_string().into()
            }
        }
    };
}
pub(crate) use text;

pub(crate) fn read_text<T>(node: &Node, form: Form, problems: &mut Problems) -> Option<T>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let Content::Text { text, .. } = &node.content else {
        report_mismatch(node, form.name, form.help, problems);
        return None;
    };
    match text.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            let told = error.to_string();
            // The error repeats the value, which must not be shown if it is a secret.
            let told = if secret::looks_like_one(text) { quoted(text) } else { told };
            problems.report(node.place, format!("{}: {told}", problems.key()), form.help);
            None
        }
    }
}
