//! How a repository gets into a sandbox: files to write and commands to run there, as the agent.
//!
//! The history stays where it is: the checkout's `alternates` name the mirror's objects, bound read-only. Only the
//! files of one commit are written, by the sandbox's own git, within the sandbox's own limits. Modules and large
//! files that are kept elsewhere (submodules, LFS) are not followed.

use std::collections::BTreeMap;

use ::git::References;
use contracts::sandbox::{Checkout, WORKSPACE, directory_names};
use domain::code::{BranchName, CommitId, RepositoryName};

/// Where things are, inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkouts {
    /// Checkouts are directories in it. It exists, and belongs to the agent.
    pub workspace: String,
    /// The objects of the first repository are bound at `0/objects` in it.
    pub mirrors: String,
}

impl Default for Checkouts {
    fn default() -> Self {
        Self { workspace: WORKSPACE.to_owned(), mirrors: "/.lamp/git".to_owned() }
    }
}

/// One repository's place inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub repository: RepositoryName,
    pub commit: CommitId,
    /// The checkout.
    pub directory: String,
    /// Where the mirror's objects are to be bound, read-only.
    pub objects: String,
}

/// What `HEAD` is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Head {
    Detached,
    /// A branch of its own, at the commit.
    Branch(BranchName),
}

/// One thing to do inside, as the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Its directory exists.
    Write {
        path: String,
        content: Vec<u8>,
        mode: u32,
    },
    Run {
        argv: Vec<String>,
        directory: String,
        environment: BTreeMap<String, String>,
    },
}

impl Checkouts {
    /// Where each repository goes.
    pub fn places(&self, sources: &[Checkout]) -> Vec<Place> {
        let repositories: Vec<_> = sources.iter().map(|source| &source.repository).collect();
        let names = directory_names(&repositories);
        sources
            .iter()
            .zip(names)
            .enumerate()
            .map(|(number, (source, name))| Place {
                repository: source.repository.clone(),
                commit: source.commit.clone(),
                directory: format!("{}/{name}", self.workspace),
                objects: format!("{}/{number}/objects", self.mirrors),
            })
            .collect()
    }
}

impl Place {
    /// The first checkout, into a directory that does not exist. The one above it does, and is the agent's.
    pub fn fresh(&self, head: &Head) -> Vec<Step> {
        let hash = if self.commit.as_str().len() == 64 { "sha256" } else { "sha1" };
        let format = format!("--object-format={hash}");
        let above = self.directory.rsplit_once('/').map_or("/", |(above, _)| above);
        let init =
            ["init", "--quiet", "--template=", "--initial-branch=lamp", &format, &self.directory];
        vec![
            git(above, &init),
            alternates(self),
            configuration(self),
            self.at_commit(head),
            git(&self.directory, &STATUS),
        ]
    }

    /// From the commit that an image was built with to the place's own. What the setup made beside the tracked
    /// files stays; changes to tracked files do not.
    pub fn renewed(&self, head: &Head) -> Vec<Step> {
        vec![alternates(self), self.at_commit(head), git(&self.directory, &STATUS)]
    }

    /// What programs inside ask of the repository besides its commit: its tags, and where it comes from.
    pub fn told(&self, references: &References) -> Vec<Step> {
        let packed = Step::Write {
            path: format!("{}/.git/packed-refs", self.directory),
            content: references.packed.clone().into_bytes(),
            mode: 0o644,
        };
        let set = |key: &str, value: &str| {
            git(
                &self.directory,
                &["config", "--replace-all", &format!("remote.origin.{key}"), value],
            )
        };
        let url = set("url", &references.origin);
        vec![packed, url, set("fetch", "+refs/heads/*:refs/remotes/origin/*")]
    }

    /// After a setup: what it changed in tracked files is nothing that sandboxes are to have.
    pub fn restored(&self) -> Vec<Step> {
        vec![self.at_commit(&Head::Detached)]
    }

    /// Tells what is not as in the commit, as [`read_touched`](::git::read_touched) reads it, and changes nothing.
    pub fn differences(&self) -> Step {
        const TELL: &str = "careful diff-tree -r -z --raw --no-renames --full-index --no-abbrev \"$before\" \"$tree\"";
        // Complaints would be read as paths.
        let tell = format!("{TELL} 2>/dev/null\n");
        Step::Run {
            argv: ::git::inside::collecting(&tell, self.commit.as_str(), &self.objects),
            directory: self.directory.clone(),
            environment: BTreeMap::new(),
        }
    }

    /// Before a snapshot, and at least a second after the last checkout: git does not trust its index about files
    /// that are as young as the index, and reads them again. Here it does so once, and not in every sandbox.
    pub fn settled(&self) -> Vec<Step> {
        vec![git(&self.directory, &STATUS)]
    }

    /// Looks at every file, and changes nothing: it may be stopped at any time.
    pub fn seen(&self) -> Step {
        git(&self.directory, &["--no-optional-locks", "status", "--porcelain"])
    }

    fn at_commit(&self, head: &Head) -> Step {
        let commit = self.commit.as_str();
        match head {
            Head::Detached => {
                git(&self.directory, &["checkout", "--quiet", "--force", "--detach", commit])
            }
            Head::Branch(branch) => git(
                &self.directory,
                &["checkout", "--quiet", "--force", "--no-track", "-B", branch.as_str(), commit],
            ),
        }
    }
}

/// Without settings of the image, whose filters might reach for the network.
fn git(directory: &str, arguments: &[&str]) -> Step {
    let settings = [
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "submodule.recurse=false",
    ];
    let words = std::iter::once("git").chain(settings).chain(arguments.iter().copied());
    let environment = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_LFS_SKIP_SMUDGE", "1"),
        ("GIT_TERMINAL_PROMPT", "0"),
        // Unlike the commands of agents: what is found is to be kept in the index.
        ("GIT_OPTIONAL_LOCKS", "1"),
    ];
    Step::Run {
        argv: words.map(str::to_owned).collect(),
        directory: directory.to_owned(),
        environment: environment.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
    }
}

const STATUS: [&str; 2] = ["status", "--porcelain"];

fn alternates(place: &Place) -> Step {
    Step::Write {
        path: format!("{}/.git/objects/info/alternates", place.directory),
        content: format!("{}\n", place.objects).into_bytes(),
        mode: 0o644,
    }
}

/// An agent's commits have an author at once. Where the repository comes from is told apart ([`Place::told`]).
fn configuration(place: &Place) -> Step {
    let (version, extension) = match place.commit.as_str().len() {
        64 => (1, "[extensions]\n\tobjectFormat = sha256\n"),
        _ => (0, ""),
    };
    let content = format!(
        "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n\
         \tlogallrefupdates = true\n\tuntrackedCache = true\n{extension}\
         [user]\n\tname = Lamplighter\n\temail = agent@lamplighter.invalid\n\
         [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[advice]\n\tdetachedHead = false\n"
    );
    Step::Write {
        path: format!("{}/.git/config", place.directory),
        content: content.into_bytes(),
        mode: 0o644,
    }
}

#[cfg(test)]
mod tests {
    use domain::code::Access;

    use super::*;

    #[test]
    fn repositories_go_by_their_last_word_unless_two_would_meet() {
        let source = |name: &str| Checkout {
            repository: name.parse().unwrap(),
            commit: "a".repeat(40).parse().unwrap(),
            access: Access::Read,
        };
        let places = |names: &[&str]| -> Vec<String> {
            let sources: Vec<Checkout> = names.iter().map(|name| source(name)).collect();
            Checkouts::default().places(&sources).into_iter().map(|place| place.directory).collect()
        };
        assert_eq!(places(&["acme/web", "api"]), ["/workspace/web", "/workspace/api"]);
        assert_eq!(
            places(&["acme/web", "beta/web"]),
            ["/workspace/acme-web", "/workspace/beta-web"]
        );
        assert_eq!(
            places(&["acme-web", "acme/web", "beta/web"]),
            ["/workspace/acme-web", "/workspace/acme-web-2", "/workspace/beta-web"]
        );
        let objects = Checkouts::default().places(&[source("a"), source("b")]);
        assert_eq!(objects[1].objects, "/.lamp/git/1/objects");
    }
}
