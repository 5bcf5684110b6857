//! Values that are one word of a few, and switches that are `true` or `false`.

use crate::{
    nearest::nearest,
    problem::Problems,
    shape::report_mismatch,
    yaml::{Content, Node, Style},
};

/// An enum whose variants are words in a file.
macro_rules! words {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident { $( $(#[doc = $help:literal])+ $variant:ident = $word:literal ),* $(,)? }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $( $(#[doc = $help])+ $variant ),* }

        impl $name {
            pub const ALL: &[Self] = &[$( Self::$variant ),*];

            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word ),* }
            }
        }

        $crate::shape::known_words! { $name; $( $variant = $word: [$($help),+] ),* }
    };
}
pub(crate) use words;

/// Gives a shape to an enum of the domain.
macro_rules! known_words {
    ($type:ty; $( $variant:ident = $word:literal: [$($help:literal),+] ),* $(,)?) => {
        impl $crate::shape::Shape for $type {
            fn read(
                node: &$crate::yaml::Node,
                problems: &mut $crate::problem::Problems,
            ) -> Option<Self> {
                let known = [$( ($word, Self::$variant) ),*];
                $crate::shape::read_word(node, &known, problems)
            }

            fn kind() -> $crate::shape::Kind {
                $crate::shape::Kind::Words(vec![$( $crate::shape::Word {
                    word: $word,
                    help: $crate::shape::one_line(&[$($help),+]),
                } ),*])
            }

            fn write(&self) -> serde_json::Value {
                match self { $( Self::$variant => $word ),* }.into()
            }
        }
    };
}
pub(crate) use known_words;

/// Gives a shape to an enum of two variants that is written as `true` or `false`.
macro_rules! flag {
    ($type:ty, $yes:ident, $no:ident) => {
        impl $crate::shape::Shape for $type {
            fn read(
                node: &$crate::yaml::Node,
                problems: &mut $crate::problem::Problems,
            ) -> Option<Self> {
                let answers = [("true", <$type>::$yes), ("false", <$type>::$no)];
                $crate::shape::read_word(node, &answers, problems)
            }

            fn kind() -> $crate::shape::Kind {
                $crate::shape::Kind::Flag
            }

            fn write(&self) -> serde_json::Value {
                (*self == Self::$yes).into()
            }
        }
    };
}
pub(crate) use flag;

pub(crate) fn read_word<T: Copy>(
    node: &Node,
    known: &[(&'static str, T)],
    problems: &mut Problems,
) -> Option<T> {
    let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    let is_switch = words == ["true", "false"];
    let text = match &node.content {
        // A quoted "true" is a text, and somebody meant something by the quotes.
        Content::Text { style: Style::Quoted, .. } if is_switch => None,
        Content::Text { text, .. } => Some(text.as_str()),
        Content::List(_) | Content::Section(_) | Content::Nothing | Content::Broken => None,
    };
    let found = text.and_then(|text| known.iter().find(|(word, _)| *word == text));
    if let Some((_, value)) = found {
        return Some(*value);
    }
    let wanted = match words.as_slice() {
        [only] => format!("`{only}`"),
        [first, second] => format!("`{first}` or `{second}`"),
        many => format!(
            "one of {}",
            many.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    let help = match text.and_then(|text| nearest(text, &words)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if is_switch => "write `true` or `false`, without quotes".to_owned(),
        None => "choose one of them".to_owned(),
    };
    report_mismatch(node, &wanted, help, problems);
    None
}
