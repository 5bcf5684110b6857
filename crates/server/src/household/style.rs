//! How commits and pull requests of this server look: `pull_requests` and `public_url` of `lamp.yaml`, read once when it starts (RV2, RV3).

use std::{
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use config::{server::Identity as Written, text_file};
use evidence::{
    body::BodyTemplate,
    commit::{BranchTemplate, Identity},
    link::Link,
};
use forges::Identity as Signature;
use provision::server_files::ServerFiles;
use terminal::report::Hint;

#[derive(Debug, Clone)]
pub(crate) struct Style {
    pub(super) names: Names,
    pub(super) co_authors: Vec<Identity>,
    pub(super) branches: BranchTemplate,
    /// An operator's; none: the built-in one.
    pub(super) body: Option<BodyTemplate>,
    /// Where people reach the server.
    pub(super) pages: Option<Link>,
}

/// Who stands in a commit, and what signs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub(super) author: Signature,
    pub(super) committer: Signature,
    pub(super) key: Option<PathBuf>,
}

impl Default for Names {
    fn default() -> Self {
        Self { author: Signature::platform(), committer: Signature::platform(), key: None }
    }
}

impl Style {
    pub(crate) fn of(said: &ServerFiles) -> anyhow::Result<Self> {
        let written = &said.server.pull_requests;
        let beside = |path: &config::names::FilePath| said.beside.join(path.as_str());
        let wrong =
            || Hint::new("`pull_requests` of `lamp.yaml` cannot be used", "correct it there");
        let names = Names {
            author: signature(written.author.as_ref()),
            committer: signature(written.committer.as_ref()),
            key: written.signing_key.as_ref().map(|path| key(&beside(path))).transpose()?,
        };
        let co_authors = written
            .co_authors
            .iter()
            .map(|it| Identity::new(it.name.as_str(), it.email.as_str()))
            .collect::<Result<Vec<Identity>, _>>()
            .with_context(wrong)?;
        let body = written.template.as_ref().map(|path| template(&beside(path)));
        let pages = said.server.public_url.as_ref().map(|url| url.as_str().parse());
        Ok(Self {
            names,
            co_authors,
            branches: written.branch.as_str().parse().with_context(wrong)?,
            body: body.transpose()?,
            pages: pages.transpose().with_context(|| {
                let what = "`public_url` of `lamp.yaml` cannot stand in a pull request";
                Hint::new(what, "write it as `https://lamp.example.com`")
            })?,
        })
    }
}

fn signature(written: Option<&Written>) -> Signature {
    written.map_or_else(Signature::platform, |it| Signature {
        name: it.name.as_str().to_owned(),
        email: it.email.as_str().to_owned(),
    })
}

/// It is tried before anything is delivered with it.
fn template(path: &Path) -> anyhow::Result<BodyTemplate> {
    let name = path.display().to_string();
    let hint = || {
        let what = format!("the template of pull requests `{name}` cannot be used");
        Hint::new(what, "mend it, or leave `pull_requests.template` out of `lamp.yaml`")
    };
    let text = text_file::read(path).map_err(|error| anyhow::anyhow!("{error}"));
    BodyTemplate::new(&name, &text.with_context(hint)?).with_context(hint)
}

/// A key that others can read signs nothing: whoever has read it could.
fn key(path: &Path) -> anyhow::Result<PathBuf> {
    let name = path.display();
    let hint = || {
        let what = format!("the key `{name}` cannot sign commits");
        Hint::new(what, format!("make one with `ssh-keygen -t ed25519 -f {name}`, mode 0600"))
    };
    let found = fs_err::metadata(path).with_context(hint)?;
    if !found.is_file() || found.mode() & 0o077 != 0 {
        let error = anyhow::anyhow!("it is no file, or others may read it");
        bail!(error.context(hint()));
    }
    Ok(std::path::absolute(path)?)
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _};

    use super::*;

    fn styled(beside: &Path, section: &str) -> anyhow::Result<Style> {
        let text = format!("version: 1\n{section}");
        let checked = config::check("lamp.yaml", &text).unwrap();
        let config::Checked::Server(server) = checked else { panic!("a server") };
        Style::of(&ServerFiles {
            server: *server,
            beside: beside.to_owned(),
            ..ServerFiles::nothing()
        })
    }

    #[test]
    fn without_a_word_lamplighter_stands_in_commits() {
        let style = styled(Path::new(""), "").unwrap();
        assert_eq!(style.names, Names::default());
        assert_eq!(style.branches, BranchTemplate::default());
        assert!(style.body.is_none() && style.pages.is_none() && style.co_authors.is_empty());
    }

    #[test]
    fn what_is_written_is_what_stands_there() {
        let directory = tempfile::tempdir().unwrap();
        fs_err::write(directory.path().join("pr.md"), "{{ summary }}\n").unwrap();
        let style = styled(
            directory.path(),
            "public_url: https://lamp.example.com\npull_requests:\n  author: { name: Ann, email: ann@example.com }\n  \
             co_authors: [{ name: Bob, email: bob@example.com }]\n  branch: agent/{slug}/{task}\n  template: pr.md\n",
        )
        .unwrap();
        assert_eq!(style.names.author.email, "ann@example.com");
        assert_eq!(style.names.committer, Signature::platform());
        assert_eq!(style.co_authors[0].to_string(), "Bob <bob@example.com>");
        assert_eq!(style.pages.unwrap().as_str(), "https://lamp.example.com");
        assert!(style.body.is_some());
        assert_ne!(style.branches, BranchTemplate::default());
    }

    #[test]
    fn a_template_or_a_key_that_cannot_be_used_is_told_before_anything_starts() {
        let directory = tempfile::tempdir().unwrap();
        let told = |section: &str| format!("{:#}", styled(directory.path(), section).unwrap_err());
        let template = "pull_requests: { template: pr.md }\n";
        assert!(told(template).contains("pr.md"), "it is not there");
        fs_err::write(directory.path().join("pr.md"), "{{ sumary }}\n").unwrap();
        let wrong = told(template);
        assert!(wrong.contains("line 1: there is no `sumary` here"), "{wrong}");
        let path = directory.path().join("key");
        fs_err::write(&path, "secret").unwrap();
        fs_err::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        let open = told("pull_requests: { signing_key: key }\n");
        assert!(open.contains("others may read it"), "{open}");
    }
}
