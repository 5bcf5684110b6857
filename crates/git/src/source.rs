//! Where a repository comes from. Only addresses that cannot make git run a program of their choice.

use std::{path::Path, str::FromStr};

use domain::spellings::SHORTEST;

/// Why it is none. No message shows a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}` cannot be a repository's address: {reason}")]
pub struct SourceError {
    pub url: String,
    pub reason: &'static str,
}

/// An address that git may be given.
#[derive(Clone, PartialEq, Eq)]
pub struct Source {
    url: String,
    transport: Transport,
}

/// How git gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// A directory of this host.
    File,
    /// Anybody on the way can read and change it, so it takes no secret.
    Http,
    Https,
    Ssh,
}

impl Transport {
    /// As git calls it in its list of allowed protocols.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Http => "http",
            Self::Https => "https",
            Self::Ssh => "ssh",
        }
    }
}

impl Source {
    /// With its secret, if it has one.
    pub(crate) fn as_str(&self) -> &str {
        &self.url
    }

    pub const fn transport(&self) -> Transport {
        self.transport
    }

    /// The directory, if it is one of this host.
    pub fn directory(&self) -> Option<&Path> {
        match self.transport {
            Transport::File => Some(Path::new(&self.url)),
            Transport::Http | Transport::Https | Transport::Ssh => None,
        }
    }

    /// What in the address is not for everybody: `user:secret`.
    pub fn secret(&self) -> Option<&str> {
        match self.transport {
            Transport::Https => user_part(&self.url),
            Transport::File | Transport::Http | Transport::Ssh => None,
        }
    }

    /// Whether both lead to the same repository, with whatever secret.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        self.place() == other.place()
    }

    /// Who asks is no part of where something is on the web; to ssh it is.
    fn place(&self) -> String {
        match (self.transport, user_part(&self.url)) {
            (Transport::Https, Some(user)) => self.url.replacen(&format!("{user}@"), "", 1),
            (Transport::Https | Transport::Http | Transport::File | Transport::Ssh, _) => {
                self.url.clone()
            }
        }
    }

    /// Takes the secret of this address out of a text.
    pub(crate) fn redact(&self, text: &str) -> String {
        let Some(secret) = self.secret() else { return text.to_owned() };
        let text = text.replace(secret, "***");
        // A host may repeat the password alone, in whatever words.
        match secret.split_once(':') {
            Some((_, password)) if password.len() >= SHORTEST => text.replace(password, "***"),
            Some(_) | None => text,
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&without_secret(&self.url))
    }
}

impl FromStr for Source {
    type Err = SourceError;

    fn from_str(url: &str) -> Result<Self, SourceError> {
        let refused = |reason| SourceError { url: without_secret(url), reason };
        if url.len() > 2_048 || url.chars().any(char::is_control) {
            return Err(refused("it is too long, or has control characters"));
        }
        let transport = match url.split_once("://") {
            _ if url.starts_with('/') => Transport::File,
            Some(("file", path)) => return from_file_url(path).map_err(refused),
            Some(("http", rest)) if rest.split('/').next().is_some_and(|it| it.contains('@')) => {
                return Err(refused(
                    "who asks would be told to everybody on the way: write `https://`",
                ));
            }
            Some(("http", rest)) => remote(rest).map(|()| Transport::Http).map_err(refused)?,
            Some(("https", rest)) => remote(rest).map(|()| Transport::Https).map_err(refused)?,
            Some(("ssh", rest)) => remote(rest).map(|()| Transport::Ssh).map_err(refused)?,
            Some(_) | None => return Err(refused(KINDS)),
        };
        Ok(Self { url: url.to_owned(), transport })
    }
}

const KINDS: &str =
    "write an absolute path, `file://`, `https://`, `http://`, or `ssh://user@host/path`";

fn from_file_url(path: &str) -> Result<Source, &'static str> {
    if !path.starts_with('/') || path.contains('%') {
        return Err("a `file://` address has no host and no `%`; write the path itself");
    }
    Ok(Source { url: path.to_owned(), transport: Transport::File })
}

/// `user@host:port/path`. What begins with `-` would be an option for ssh, or for the other side's git.
fn remote(rest: &str) -> Result<(), &'static str> {
    let (authority, path) = rest.split_once('/').ok_or("it has no path")?;
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() || path.is_empty() {
        return Err("it has no host or no path");
    }
    if [user, host, path].iter().any(|part| part.starts_with('-')) {
        return Err("a part of it begins with `-`");
    }
    if rest.chars().any(char::is_whitespace) {
        return Err("it has a space");
    }
    Ok(())
}

/// `user:secret` of `https://user:secret@host/path`.
fn user_part(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    authority.rsplit_once('@').map(|(user, _)| user).filter(|user| !user.is_empty())
}

fn without_secret(url: &str) -> String {
    user_part(url).map_or_else(|| url.to_owned(), |user| url.replacen(user, "***", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_only_fetch_are_taken() {
        for (url, transport) in [
            ("/srv/git/web.git", Transport::File),
            ("/srv/with space/ext::sh", Transport::File),
            ("file:///srv/git/web.git", Transport::File),
            ("https://forge.example/acme/web.git", Transport::Https),
            ("https://x:token@forge.example/acme/web", Transport::Https),
            ("http://forge.example:3000/acme/web.git", Transport::Http),
            ("ssh://git@forge.example:22/acme/web.git", Transport::Ssh),
        ] {
            assert_eq!(url.parse::<Source>().unwrap().transport(), transport, "{url}");
        }
    }

    #[test]
    fn addresses_that_could_run_a_program_are_refused() {
        for url in [
            "",
            "ext::sh -c id",
            "fd::17/foo",
            "file::/etc",
            "--upload-pack=id",
            "-u",
            "relative/path",
            "../up",
            "git@host:path",
            "host:path",
            "http://me:hunter2@host/x",
            "http://me@host/x",
            "http://-oProxyCommand=id/x",
            "git://host/x",
            "ftp://host/x",
            "HTTPS://host/x",
            "ssh://-oProxyCommand=id/x",
            "ssh://-oProxyCommand=id@host/x",
            "ssh://git@-oProxyCommand=id/x",
            "ssh://host/-x",
            "ssh://host",
            "https:///x",
            "https://host/a b",
            "file://host/x",
            "file:///a%2e",
            "/srv/x\n[core]",
            "https://host/x\n",
        ] {
            assert!(url.parse::<Source>().is_err(), "{url}");
        }
    }

    #[test]
    fn no_message_shows_a_secret() {
        let error = "http://me:hunter2@host/x".parse::<Source>().unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
        let source: Source = "https://me:hunter2@host/x".parse().unwrap();
        assert_eq!(format!("{source:?}"), "https://***@host/x");
        assert_eq!(source.redact("no https://me:hunter2@host/x"), "no https://***@host/x");
        assert_eq!(
            source.redact("remote: the token hunter2 is old"),
            "remote: the token *** is old"
        );
    }
}
