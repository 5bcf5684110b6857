//! The key of an image: a hash of everything that can change what is in it (IM2).
//!
//! Two recipes with one key are the same image, so every part is written with its length in front: nothing can be moved
//! from one part to the next without changing the key. The order of repositories does not matter, except for the first,
//! where the setup runs; the order of lockfiles does not matter at all.

use contracts::sandbox::ImageKey;
use domain::code::{CommitId, RepositoryName};
use sha2::{Digest as _, Sha256};

use crate::base::Digest;

/// Changes when images of the same inputs would be built differently. Older images are not found any more then.
pub const FORMAT: u32 = 1;

/// All that an image is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// Of the base: of the host's view, of a root file system, of an OCI image's config, or of an image's key.
    pub base: Digest,
    /// Empty: nothing is run.
    pub setup: String,
    pub sources: Vec<SourceInput>,
    pub lockfiles: Vec<LockfileInput>,
}

/// A repository in the image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceInput {
    pub repository: RepositoryName,
    pub commit: CommitInput,
}

/// Whether another commit is another image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommitInput {
    Counts(CommitId),
    /// The lockfiles tell what the setup needs; each sandbox brings its own commit.
    DoesNotCount,
}

/// A file that says which dependencies are installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockfileInput {
    pub repository: RepositoryName,
    pub path: String,
    pub content: Digest,
}

/// The key. The same inputs give the same key on every machine.
pub fn key(inputs: &Inputs) -> ImageKey {
    let Inputs { base, setup, sources, lockfiles } = inputs;
    let mut writing = Writing(Sha256::new());
    writing.part("lamp image");
    writing.number(u64::from(FORMAT));
    writing.part(base.as_str());
    writing.part(setup);

    let mut rest: Vec<&SourceInput> = sources.iter().skip(1).collect();
    rest.sort();
    writing.count(sources.len());
    for SourceInput { repository, commit } in sources.first().into_iter().chain(rest) {
        writing.part(repository.as_str());
        match commit {
            CommitInput::Counts(commit) => {
                writing.number(1);
                writing.part(commit.as_str());
            }
            CommitInput::DoesNotCount => writing.number(0),
        }
    }

    let mut lockfiles: Vec<&LockfileInput> = lockfiles.iter().collect();
    lockfiles.sort();
    lockfiles.dedup();
    writing.count(lockfiles.len());
    for LockfileInput { repository, path, content } in lockfiles {
        writing.part(repository.as_str());
        writing.part(path);
        writing.part(content.as_str());
    }
    writing.finish()
}

struct Writing(Sha256);

impl Writing {
    fn part(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text);
    }

    fn count(&mut self, count: usize) {
        self.number(u64::try_from(count).unwrap_or(u64::MAX));
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_le_bytes());
    }

    #[expect(
        clippy::expect_used,
        reason = "a SHA-256 in hexadecimal is a key, by the definition of a key"
    )]
    fn finish(self) -> ImageKey {
        format!("{:x}", self.0.finalize()).parse().expect("a hash is a key")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn inputs() -> impl Strategy<Value = Inputs> {
        let commit = prop_oneof![
            Just(CommitInput::DoesNotCount),
            "[0-9a-f]{40}".prop_map(|commit| CommitInput::Counts(commit.parse().unwrap())),
        ];
        let name = || "[a-c]{1,2}".prop_map(|name| name.parse::<RepositoryName>().unwrap());
        let source =
            (name(), commit).prop_map(|(repository, commit)| SourceInput { repository, commit });
        let lockfile =
            (name(), "[a-b/]{0,3}", any::<u8>()).prop_map(|(repository, path, content)| {
                LockfileInput { repository, path, content: Digest::of(&[content]) }
            });
        let sources = prop::collection::vec(source, 0..4);
        let lockfiles = prop::collection::btree_set(lockfile, 0..4);
        (any::<u8>(), "[a-b\n]{0,4}", sources, lockfiles).prop_map(
            |(base, setup, sources, lockfiles)| Inputs {
                base: Digest::of(&[base]),
                setup,
                sources,
                lockfiles: lockfiles.into_iter().collect(),
            },
        )
    }

    /// The inputs as they count: what may be in any order is sorted.
    fn normal(mut inputs: Inputs) -> Inputs {
        inputs.lockfiles.sort();
        if let Some((_, rest)) = inputs.sources.split_first_mut() {
            rest.sort();
        }
        inputs
    }

    proptest! {
        #[test]
        fn two_inputs_have_one_key_exactly_if_they_are_the_same(one in inputs(), other in inputs()) {
            let same = normal(one.clone()) == normal(other.clone());
            prop_assert_eq!(key(&one) == key(&other), same);
        }

        #[test]
        fn the_order_of_what_has_none_does_not_matter(one in inputs()) {
            let mut other = one.clone();
            other.lockfiles.reverse();
            if let Some((_, rest)) = other.sources.split_first_mut() {
                rest.reverse();
            }
            prop_assert_eq!(key(&one), key(&other));
        }

        #[test]
        fn any_change_changes_the_key(one in inputs()) {
            let before = key(&one);
            let changed = |change: &dyn Fn(&mut Inputs)| {
                let mut other = one.clone();
                change(&mut other);
                key(&other) != before
            };
            prop_assert!(changed(&|inputs| inputs.base = Digest::of(b"another")));
            prop_assert!(changed(&|inputs| inputs.setup.push('x')));
            let another = || SourceInput { repository: "z".parse().unwrap(), commit: CommitInput::DoesNotCount };
            prop_assert!(changed(&|inputs| inputs.sources.push(another())));
            if !one.sources.is_empty() {
                prop_assert!(changed(&|inputs| drop(inputs.sources.pop())));
            }
            if !one.lockfiles.is_empty() {
                prop_assert!(changed(&|inputs| inputs.lockfiles[0].content = Digest::of(b"another")));
                prop_assert!(changed(&|inputs| inputs.lockfiles[0].path.push('x')));
            }
        }
    }

    #[test]
    fn the_first_repository_is_where_the_setup_runs() {
        let source = |name: &str| SourceInput {
            repository: name.parse().unwrap(),
            commit: CommitInput::DoesNotCount,
        };
        let inputs = |sources| Inputs {
            base: Digest::of(b""),
            setup: String::new(),
            sources,
            lockfiles: vec![],
        };
        let (a, b) =
            (inputs(vec![source("a"), source("b")]), inputs(vec![source("b"), source("a")]));
        assert_ne!(key(&a), key(&b));
    }

    #[test]
    fn a_key_stays_the_same_from_release_to_release() {
        let inputs = Inputs {
            base: Digest::of(b"base"),
            setup: "npm ci\n".to_owned(),
            sources: vec![SourceInput {
                repository: "team/web".parse().unwrap(),
                commit: CommitInput::Counts(
                    "0123456789012345678901234567890123456789".parse().unwrap(),
                ),
            }],
            lockfiles: vec![LockfileInput {
                repository: "team/web".parse().unwrap(),
                path: "package-lock.json".to_owned(),
                content: Digest::of(b"{}"),
            }],
        };
        insta::assert_snapshot!(key(&inputs), @"12d300d864d703fc970ed83f408120e59485e734d95532fdf8b3c5595e1b2c89");
    }
}
