//! Which repository is meant: the one that we stand in, a path, an address, or a name that the server knows.
//!
//! git is only asked, in the person's own repository, and without what its configuration could have it start.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, anyhow, bail};
use terminal::{refusal::Explained as _, report::Hint};
use wire::{client::Client, task::NewRepository};

use crate::timeline::{put::put_line, words};

/// A repository to work in, and what to say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) wish: NewRepository,
    /// Files with changes that are not committed.
    pub(super) uncommitted: usize,
    /// Where a local one stands.
    stands: Option<Stands>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stands {
    /// None, where somebody looks at a commit without one.
    branch: Option<String>,
    commit: String,
}

impl Chosen {
    fn at(name: String, url: String) -> Self {
        let wish = NewRepository { name, url, revision: None, access: None };
        Self { wish, uncommitted: 0, stands: None }
    }

    /// One line about what is worked on, and one about what is not taken along.
    pub(super) fn told(&self) -> String {
        let stands = self.stands.as_ref().map(|Stands { branch, commit }| {
            let branch = branch.as_ref().map(|it| format!("{} at ", words::line(it, 100)));
            format!(", from {}{}", branch.unwrap_or_default(), words::short(commit))
        });
        let stands = stands.unwrap_or_default();
        let url = words::line(&self.wish.url, 200);
        let mut text = format!("Repository {} ({url}){stands}.\n", self.wish.name);
        if self.uncommitted > 0 {
            let files = crate::amount::count(self.uncommitted as u64, "file");
            put_line!(
                text,
                "Note: changes to {files} are not committed, and are not taken along; commit them first if they matter."
            );
        }
        text
    }
}

/// Those that were named, or the one that we stand in.
pub(super) async fn choose(client: &Client, named: &[String]) -> anyhow::Result<Vec<Chosen>> {
    if named.is_empty() {
        let here = Path::new(".");
        if !is_repository(here) {
            bail!(Hint::new(
                "no repository is named, and this directory is in none",
                "go into one, or name it: `--repo PATH`, `--repo URL`, or `--repo NAME` for one that the server knows",
            ));
        }
        return Ok(vec![on_branch(local(here)?)?]);
    }
    let mut chosen = Vec::new();
    for text in named {
        chosen.push(on_branch(one(client, text).await?)?);
    }
    Ok(chosen)
}

fn is_repository(place: &Path) -> bool {
    git(place, &["rev-parse", "--git-dir"]).is_ok()
}

/// A change goes into the branch that the repository is on. Without one it could not be delivered, which is told before it costs anything.
fn on_branch(chosen: Chosen) -> anyhow::Result<Chosen> {
    if let Some(Stands { branch: None, commit }) = &chosen.stands {
        bail!(Hint::new(
            format!(
                "`{}` is on no branch: its HEAD is detached at {}, and there is nothing that a change could go into",
                words::line(&chosen.wish.url, 200),
                words::short(commit)
            ),
            "go to a branch first: `git checkout BRANCH`"
        ));
    }
    Ok(chosen)
}

async fn one(client: &Client, text: &str) -> anyhow::Result<Chosen> {
    match read(text) {
        Meant::Both { name, url } => Ok(Chosen::at(name, url)),
        Meant::Address(url) => {
            let name = name_of_address(&url).ok_or_else(|| {
                anyhow!(Hint::new(
                    format!("cannot tell a name from `{}`", words::line(&url, 200)),
                    "say it: `--repo NAME=URL`"
                ))
            })?;
            Ok(Chosen::at(name, url))
        }
        Meant::Path(path) => local(&path),
        Meant::Name(name) => {
            let known = client.repositories().await.explained()?;
            if let Some(found) = known.iter().find(|it| it.name == name) {
                return Ok(Chosen::at(name, found.url.clone()));
            }
            if Path::new(&name).is_dir() {
                return local(Path::new(&name));
            }
            let names: Vec<&str> = known.iter().map(|it| it.name.as_str()).collect();
            let hint = match names.as_slice() {
                [] => "say where it is: `--repo NAME=URL`, or `--repo PATH`".to_owned(),
                names => format!(
                    "those that it knows: {}; or say where it is: `--repo NAME=URL`",
                    names.join(", ")
                ),
            };
            bail!(Hint::new(format!("the server knows no repository `{name}`"), hint))
        }
    }
}

/// What a person wrote after `--repo`.
#[derive(Debug, PartialEq, Eq)]
enum Meant {
    Both { name: String, url: String },
    Address(String),
    Path(PathBuf),
    Name(String),
}

fn read(text: &str) -> Meant {
    let is_name = |name: &str| !name.is_empty() && name.split('/').count() <= 2 && plain(name);
    if let Some((name, url)) = text.split_once('=').filter(|(name, _)| is_name(name)) {
        return Meant::Both { name: name.to_owned(), url: absolute(url) };
    }
    let has_host =
        text.split_once(':').is_some_and(|(host, _)| !host.contains('/') && host.contains('@'));
    if text.contains("://") || has_host {
        return Meant::Address(text.to_owned());
    }
    if is_name(text) {
        return Meant::Name(text.to_owned());
    }
    Meant::Path(PathBuf::from(text))
}

/// The server stands elsewhere than we do, so a path is told whole.
fn absolute(url: &str) -> String {
    let is_path = !url.contains("://") && !url.contains('@') && Path::new(url).exists();
    let path = is_path.then(|| Path::new(url).canonicalize().ok()).flatten();
    path.and_then(|path| Some(path.to_str()?.to_owned())).unwrap_or_else(|| url.to_owned())
}

/// Letters that a repository's name has here.
fn plain(name: &str) -> bool {
    let word = |word: &str| {
        let first = word.chars().next();
        first.is_some_and(|it| it.is_ascii_alphanumeric() || it == '_')
            && word.chars().all(|it| it.is_ascii_alphanumeric() || "._-".contains(it))
    };
    name.split('/').all(word)
}

/// `owner/name` at the end of an address, or the last word alone.
fn name_of_address(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        Some(("file", path)) => path,
        Some((_, rest)) => rest.split_once('/')?.1,
        None => url.split_once(':').map_or(url, |(_, path)| path),
    };
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let mut words = path.rsplit('/').filter(|word| !word.is_empty());
    let name = words.next()?;
    let owner = words.next().filter(|owner| plain(owner));
    let name = owner.map_or_else(|| name.to_owned(), |owner| format!("{owner}/{name}"));
    plain(&name).then_some(name)
}

/// The repository that a directory is in.
fn local(place: &Path) -> anyhow::Result<Chosen> {
    if !place.is_dir() {
        bail!(Hint::new(
            format!("there is no directory `{}`", place.display()),
            "name one that exists, or an address: `--repo NAME=URL`"
        ));
    }
    if git(place, &["rev-parse", "--is-bare-repository"]).is_ok_and(|it| it == "true") {
        bail!(Hint::new(
            format!("`{}` is a bare repository, without files to stand in", place.display()),
            format!("name it: `--repo NAME={}`", place.display())
        ));
    }
    let top = git(place, &["rev-parse", "--show-toplevel"])
        .with_context(|| format!("`{}` is in no git repository", place.display()))?;
    let top = PathBuf::from(top);
    let url = top.to_str().ok_or_else(|| anyhow!("the path of the repository is no text"))?;
    // What git says to this is about its own words, and helps nobody.
    let commit = git(&top, &["rev-parse", "--verify", "HEAD"]).map_err(|_| {
        anyhow!(Hint::new(
            format!("`{}` has no commit yet, and there is nothing to begin from", top.display()),
            "make one: `git add . && git commit`",
        ))
    })?;
    let branch = git(&top, &["symbolic-ref", "--short", "HEAD"]).ok();
    let remote = git(&top, &["remote", "get-url", "origin"]).ok();
    let name = remote
        .and_then(|remote| name_of_address(&remote))
        .or_else(|| directory_name(&top))
        .ok_or_else(|| {
            anyhow!(Hint::new(
                format!("the directory `{}` cannot be the name of a repository", top.display()),
                "say one: `--repo NAME=PATH`"
            ))
        })?;
    let changed = git(&top, &["status", "--porcelain", "--no-renames"])?;
    let mut chosen = Chosen::at(name, url.to_owned());
    chosen.uncommitted = changed.lines().count();
    chosen.stands = Some(Stands { branch, commit });
    Ok(chosen)
}

fn directory_name(top: &Path) -> Option<String> {
    let name = top.file_name()?.to_str()?;
    plain(name).then(|| name.to_owned())
}

/// The name of the repository that we stand in, where a command wants one and none was said.
pub(crate) fn here() -> anyhow::Result<(String, PathBuf)> {
    let here = Path::new(".");
    if !is_repository(here) {
        bail!(Hint::new(
            "no repository is named, and this directory is in none",
            "name it with `--repo NAME`, or go into it",
        ));
    }
    let chosen = local(here)?;
    Ok((chosen.wish.name, PathBuf::from(chosen.wish.url)))
}

/// What git says, without the line's end.
pub(super) fn git(place: &Path, words: &[&str]) -> anyhow::Result<String> {
    let mut git = Command::new("git");
    git.arg("-C").arg(place).args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
    let said = git.args(words).stdin(Stdio::null()).output().context("git does not start")?;
    if !said.status.success() {
        let why = words::line(&String::from_utf8_lossy(&said.stderr), 300);
        bail!("git says: {why}");
    }
    Ok(String::from_utf8_lossy(&said.stdout).trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_from_an_address() {
        for (url, name) in [
            ("https://git.example.com/acme/web.git", Some("acme/web")),
            ("https://git.example.com/acme/web/", Some("acme/web")),
            ("git@git.example.com:acme/web.git", Some("acme/web")),
            ("ssh://git@git.example.com:22/acme/web", Some("acme/web")),
            ("file:///srv/git/web.git", Some("git/web")),
            ("https://git.example.com/web", Some("web")),
            ("https://git.example.com/", None),
            ("https://git.example.com/a/b c", None),
        ] {
            assert_eq!(name_of_address(url).as_deref(), name, "{url}");
        }
    }

    #[test]
    fn what_is_written_after_repo_is_understood() {
        let both =
            |name: &str, url: &str| Meant::Both { name: name.to_owned(), url: url.to_owned() };
        assert_eq!(read("acme/web=https://h/x.git"), both("acme/web", "https://h/x.git"));
        assert_eq!(read("acme/web"), Meant::Name("acme/web".to_owned()));
        assert_eq!(read("web"), Meant::Name("web".to_owned()));
        assert_eq!(read("./web"), Meant::Path("./web".into()));
        assert_eq!(read("/srv/a/b"), Meant::Path("/srv/a/b".into()));
        assert_eq!(read("git@h:a/b"), Meant::Address("git@h:a/b".to_owned()));
        assert_eq!(read("https://h/a=b"), Meant::Address("https://h/a=b".to_owned()));
    }

    fn sample(changed: bool) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        let run = |words: &[&str]| git(place.path(), words).unwrap();
        run(&["init", "--quiet", "--initial-branch=main"]);
        fs_err::write(place.path().join("a"), "a").unwrap();
        run(&["add", "."]);
        run(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"]);
        if changed {
            fs_err::write(place.path().join("b"), "b").unwrap();
        }
        place
    }

    #[test]
    fn the_repository_that_we_stand_in_is_told_with_what_is_not_taken_along() {
        let place = sample(true);
        git(place.path(), &["remote", "add", "origin", "https://h.example.com/acme/web.git"])
            .unwrap();
        fs_err::create_dir(place.path().join("deep")).unwrap();
        let chosen = local(&place.path().join("deep")).unwrap();
        assert_eq!((chosen.wish.name.as_str(), chosen.uncommitted), ("acme/web", 1));
        let told = chosen.told();
        assert!(
            told.contains("from main at ") && told.contains("1 file are not committed"),
            "{told}"
        );
        assert!(local(sample(false).path()).is_err(), "a directory such as `.tmpX` is no name");
    }

    #[test]
    fn what_is_no_repository_is_refused() {
        let place = tempfile::tempdir().unwrap();
        assert!(local(place.path()).is_err());
        git(place.path(), &["init", "--quiet"]).unwrap();
        let error = local(place.path()).unwrap_err();
        assert!(error.to_string().contains("has no commit yet"), "{error}");
        assert_eq!(error.chain().count(), 1, "git's own words say nothing more");
        let error = local(&place.path().join("nope")).unwrap_err();
        assert!(error.to_string().starts_with("there is no directory"), "{error}");
        let bare = tempfile::tempdir().unwrap();
        git(bare.path(), &["init", "--quiet", "--bare"]).unwrap();
        let error = local(bare.path()).unwrap_err();
        assert!(error.to_string().contains("is a bare repository"), "{error}");
    }

    #[test]
    fn a_head_without_a_branch_is_refused_before_anything_is_spent() {
        let place = sample(false);
        let remote = ["remote", "add", "origin", "https://h.example.com/acme/web.git"];
        git(place.path(), &remote).unwrap();
        assert!(on_branch(local(place.path()).unwrap()).is_ok());
        git(place.path(), &["checkout", "--quiet", "--detach"]).unwrap();
        let chosen = local(place.path()).unwrap();
        let error = on_branch(chosen).unwrap_err();
        assert!(error.to_string().contains("is on no branch"), "{error}");
    }
}
