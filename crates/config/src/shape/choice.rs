//! Sections whose keys depend on one word in them.

use crate::{
    nearest::nearest,
    problem::{Problems, quoted},
    shape::report_mismatch,
    yaml::{Content, Node},
};

/// An enum of records, told apart by the word under one key.
macro_rules! choice {
    (
        $(#[doc = $about:literal])+
        pub enum $name:ident by $key:ident {
            $( $(#[doc = $help:literal])+ $variant:ident($record:ident) = $word:literal ),* $(,)?
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum $name { $( $(#[doc = $help])+ $variant($record) ),* }

        impl $name {
            /// The word that tells this one from the others.
            pub const fn word(&self) -> &'static str {
                match self { $( Self::$variant(_) => $word ),* }
            }
        }

        impl $crate::shape::Shape for $name {
            fn read(
                node: &$crate::yaml::Node,
                problems: &mut $crate::problem::Problems,
            ) -> Option<Self> {
                let (word, rest) =
                    $crate::shape::read_tag(node, stringify!($key), &[$($word),*], problems)?;
                $( if word == $word {
                    return <$record as $crate::shape::Shape>::read(&rest, problems).map(Self::$variant);
                } )*
                None
            }

            fn kind() -> $crate::shape::Kind {
                $crate::shape::Kind::Choice {
                    key: stringify!($key),
                    options: vec![$( ($word, $crate::shape::Record {
                        help: $crate::shape::one_line(&[$($help),+]),
                        ..$record::record()
                    }) ),*],
                }
            }

            fn write(&self) -> serde_json::Value {
                let mut written = match self {
                    $( Self::$variant(record) => $crate::shape::Shape::write(record) ),*
                };
                if let Some(keys) = written.as_object_mut() {
                    keys.insert(stringify!($key).to_owned(), self.word().into());
                }
                written
            }
        }
    };
}
pub(crate) use choice;

/// The word under `key`, and the section without it.
pub(crate) fn read_tag(
    node: &Node,
    key: &str,
    words: &[&'static str],
    problems: &mut Problems,
) -> Option<(&'static str, Node)> {
    let listed = || words.iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
    let Content::Section(entries) = &node.content else {
        let help = format!("write `{{ {key}: {} }}`", words.first().copied().unwrap_or_default());
        report_mismatch(node, "a section with keys", help, problems);
        return None;
    };
    let Some(tag) = node.get(key) else {
        let what = format!("{} lacks the key `{key}`", problems.key());
        problems.report(node.place, what, format!("`{key}` is one of {}", listed()));
        return None;
    };
    let Some(text) = tag.text() else {
        problems.below(key, |problems| report_mismatch(tag, "a word", listed(), problems));
        return None;
    };
    let Some(word) = words.iter().find(|word| **word == text) else {
        let what = format!("`{key}` cannot be {}", quoted(text));
        let help = match nearest(text, words) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("it is one of {}", listed()),
        };
        problems.report(tag.place, what, help);
        return None;
    };
    let rest = entries.iter().filter(|entry| entry.key != key).cloned().collect();
    Some((word, Node { place: node.place, content: Content::Section(rest) }))
}
