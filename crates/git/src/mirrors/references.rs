//! What a checkout is told of its repository besides its commit: tags, the default branch, and where it comes from.
//!
//! Programs that name versions (`git describe --tags`) and that compare with `origin` need it. Nothing secret is in it: an address is shown
//! without whoever asks, and the place of a directory on this host not at all.

use domain::code::RepositoryName;

use super::{MirrorError, Mirrors};
use crate::{
    run::{QUICK, run},
    source::{Source, Transport},
    touched::ObjectName,
};

/// Tags that a checkout is told of, the newest first. Repositories that build every night have more than anybody asks for.
const MOST_TAGS: &str = "--count=5000";

/// Characters of a ref's name.
const LONGEST: usize = 500;

/// As files and settings of a checkout say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct References {
    /// The content of `packed-refs`: tags, and `origin`'s default branch.
    pub packed: String,
    /// Where `origin` is.
    pub origin: String,
}

impl Mirrors {
    /// What checkouts of the repository are told of it now.
    pub async fn references(&self, name: &RepositoryName) -> Result<References, MirrorError> {
        let mirror = self.known(name)?;
        let mut lines = Vec::new();
        let branch = self.git().ask("find a branch", &mirror.path, &["symbolic-ref", "-q", "HEAD"]);
        if let Ok(branch) = branch.await
            && let Some(short) = branch.strip_prefix("refs/heads/")
        {
            let asked = ["for-each-ref", "--format=%(objectname)  %(refname)", &branch];
            let said = self.git().ask("find a branch", &mirror.path, &asked).await?;
            let at = said.lines().filter_map(read).find(|one| one.name == branch);
            lines
                .extend(at.map(|one| Line { name: format!("refs/remotes/origin/{short}"), ..one }));
        }
        let mut command = self.git().on(&mirror.path);
        command.args(["for-each-ref", "--sort=-creatordate", MOST_TAGS]);
        command.args(["--format=%(objectname) %(*objectname) %(refname)", "refs/tags/"]);
        let said = run(command, &[], QUICK).await?.checked("list tags")?;
        lines.extend(String::from_utf8_lossy(&said).lines().filter_map(read));
        lines.sort_by(|one, other| one.name.cmp(&other.name));
        let mut packed = "# pack-refs with: peeled fully-peeled sorted \n".to_owned();
        for line in lines {
            packed.push_str(&line.text());
        }
        Ok(References { packed, origin: shown(&mirror.source, name) })
    }
}

/// One ref.
#[derive(Debug)]
struct Line {
    at: ObjectName,
    /// What an annotated tag leads to.
    peeled: Option<ObjectName>,
    name: String,
}

impl Line {
    fn text(&self) -> String {
        let peeled = self.peeled.as_ref().map(|it| format!("^{it}\n")).unwrap_or_default();
        format!("{} {}\n{peeled}", self.at, self.name)
    }
}

/// `HASH HASH NAME`, the second one empty where there is none. A name that could end its line is left out.
fn read(line: &str) -> Option<Line> {
    let mut words = line.splitn(3, ' ');
    let (at, peeled, name) = (words.next()?, words.next()?, words.next()?);
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && c != '\u{fffd}';
    let is_named = name.starts_with("refs/") && name.len() <= LONGEST;
    if !is_named || !name.chars().all(is_plain) {
        return None;
    }
    let peeled = match peeled {
        "" => None,
        peeled => Some(peeled.parse().ok()?),
    };
    Some(Line { at: at.parse().ok()?, peeled, name: name.to_owned() })
}

/// The address for everybody: without whoever asks, and without what may be a secret behind it.
fn shown(source: &Source, name: &RepositoryName) -> String {
    let nowhere = || format!("https://origin.invalid/{name}.git");
    match source.transport() {
        Transport::File => return nowhere(),
        Transport::Http | Transport::Https | Transport::Ssh => {}
    }
    let address = format!("{source:?}");
    let Some((scheme, rest)) = address.split_once("://") else { return nowhere() };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}://{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_whoever_asks() {
        let name: RepositoryName = "acme/web".parse().unwrap();
        for (address, expected) in [
            (
                "https://ann:hunter2hunter2@git.example.com/acme/web.git",
                "https://git.example.com/acme/web.git",
            ),
            ("https://git.example.com/acme/web?token=x#y", "https://git.example.com/acme/web"),
            (
                "ssh://git@git.example.com:2222/acme/web.git",
                "ssh://git.example.com:2222/acme/web.git",
            ),
            ("/srv/repositories/web", "https://origin.invalid/acme/web.git"),
        ] {
            let source: Source = address.parse().unwrap();
            assert_eq!(shown(&source, &name), expected);
        }
    }

    #[test]
    fn only_plain_names_are_told() {
        let hash = "a".repeat(40);
        assert!(read(&format!("{hash}  refs/tags/v1.0")).is_some());
        assert!(read(&format!("{hash} {hash} refs/tags/v1.0")).is_some());
        for wrong in ["refs/tags/a b", "tags/v1", "refs/tags/a\u{1b}", ""] {
            assert!(read(&format!("{hash}  {wrong}")).is_none(), "{wrong}");
        }
        assert!(read("HEAD  refs/tags/v1").is_none());
    }
}
