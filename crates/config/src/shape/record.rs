//! Sections with known keys.

use crate::{
    nearest::nearest,
    problem::{Problems, quoted},
    secret,
    shape::{Shape, report_mismatch},
    yaml::{Content, Entry, Node},
};

/// A struct that reads itself from a section, and describes itself.
///
/// A field with `= value` may be left out; the others must be there. `look` names
/// a function that looks at the section even if some of its fields are wrong;
/// `verify` one that looks at the whole once all fields have been read.
/// `defaulted` gives the struct a `Default` made of the same values.
macro_rules! record {
    (
        defaulted
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $( $(#[doc = $help:literal])+ $field:ident: $type:ty = $default:expr ),* $(,)?
        }
        $(look = $look:path;)?
        $(verify = $verify:path;)?
    ) => {
        $crate::shape::record! {
            $(#[doc = $about])+
            pub struct $name { $( $(#[doc = $help])+ $field: $type = $default ),* }
            $(look = $look;)?
            $(verify = $verify;)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default ),* }
            }
        }
    };
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $( $(#[doc = $help:literal])+ $field:ident: $type:ty $(= $default:expr)? ),* $(,)?
        }
        $(look = $look:path;)?
        $(verify = $verify:path;)?
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name { $( $(#[doc = $help])+ pub $field: $type, )* }

        impl $name {
            fn record() -> $crate::shape::Record {
                $crate::shape::Record {
                    help: $crate::shape::one_line(&[$($about),+]),
                    fields: vec![$( $crate::shape::Field {
                        key: stringify!($field),
                        help: $crate::shape::one_line(&[$($help),+]),
                        kind: <$type as $crate::shape::Shape>::kind(),
                        presence: $crate::shape::record!(@presence $type $(, $default)?),
                    } ),*],
                }
            }
        }

        impl $crate::shape::Shape for $name {
            fn read(
                node: &$crate::yaml::Node,
                problems: &mut $crate::problem::Problems,
            ) -> Option<Self> {
                let keys: &[&str] = &[$(stringify!($field)),*];
                let fields = $crate::shape::Fields::of(node, keys, problems)?;
                $( $look(node, problems); )?
                $( let $field: Option<$type> = fields.read(
                    stringify!($field),
                    $crate::shape::record!(@need $($default)?),
                    problems,
                ); )*
                let whole = fields.whole(Self { $( $field: $field? ),* });
                $( $verify(&whole, node, problems); )?
                Some(whole)
            }

            fn kind() -> $crate::shape::Kind {
                $crate::shape::Kind::Record(Self::record())
            }

            fn write(&self) -> serde_json::Value {
                let written: Vec<(&str, serde_json::Value)> =
                    vec![$( (stringify!($field), $crate::shape::Shape::write(&self.$field)) ),*];
                written.into_iter().filter(|(_, value)| !value.is_null()).collect()
            }
        }
    };
    (@presence $type:ty) => { $crate::shape::Presence::Required };
    (@presence $type:ty, $default:expr) => {{
        let default: $type = $default;
        $crate::shape::Presence::Optional { default: $crate::shape::Shape::write(&default) }
    }};
    (@need) => { $crate::shape::Need::Required };
    (@need $default:expr) => { $crate::shape::Need::Otherwise($default) };
}
pub(crate) use record;

/// The keys of one section, while they are read.
pub(crate) struct Fields<'a> {
    node: &'a Node,
    known: &'a [&'a str],
}

/// What to do about a key that is not there.
pub(crate) enum Need<T> {
    Required,
    Otherwise(T),
}

impl<'a> Fields<'a> {
    /// The section's keys, after reporting those that are not `known`.
    pub(crate) fn of(
        node: &'a Node,
        known: &'a [&'a str],
        problems: &mut Problems,
    ) -> Option<Self> {
        if !matches!(node.content, Content::Section(_)) {
            let help = format!("its keys are {}", listed(known));
            report_mismatch(node, "a section with keys", help, problems);
            return None;
        }
        let is_unknown = |entry: &&Entry| !known.contains(&entry.key.as_str());
        for entry in node.entries().iter().filter(is_unknown) {
            if problems.are_many() {
                return None;
            }
            let what = format!("{} has no key {}", problems.key(), quoted(&entry.key));
            problems.report(entry.place, what, about_unknown(&entry.key, known));
        }
        Some(Self { node, known })
    }

    pub(crate) fn read<T: Shape>(
        &self,
        key: &'static str,
        need: Need<T>,
        problems: &mut Problems,
    ) -> Option<T> {
        if let Some(value) = self.node.get(key) {
            return problems.below(key, |problems| T::read(value, problems));
        }
        match need {
            Need::Otherwise(value) => Some(value),
            // Whoever misspelt it has been asked whether they meant it.
            Need::Required if self.is_misspelt(key) => None,
            Need::Required => {
                let what = format!("{} lacks the key `{key}`", problems.key());
                problems.report(self.node.place, what, format!("add `{key}:`"));
                None
            }
        }
    }

    fn is_misspelt(&self, key: &str) -> bool {
        let meant = |entry: &Entry| nearest(&entry.key, self.known) == Some(key);
        let is_unknown = |entry: &&Entry| !self.known.contains(&entry.key.as_str());
        self.node.entries().iter().filter(is_unknown).any(meant)
    }

    /// The value that was put together from these fields. A section without any
    /// key is one too.
    #[expect(clippy::unused_self, reason = "keeps `fields` in use where there are no fields")]
    pub(crate) fn whole<T>(&self, whole: T) -> T {
        whole
    }
}

fn about_unknown(key: &str, known: &[&str]) -> String {
    if let Some(near) = nearest(key, known) {
        return format!("did you mean `{near}`?");
    }
    if secret::is_name_of_one(key) {
        return "secrets are not kept in files: use `lamp secret set NAME`".to_owned();
    }
    if known.is_empty() {
        return "this section has no keys of its own".to_owned();
    }
    format!("its keys are {}", listed(known))
}

fn listed(known: &[&str]) -> String {
    known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")
}
