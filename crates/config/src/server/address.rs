//! Addresses: where the server listens, how people reach it, where it remembers.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    str::FromStr,
};

use crate::{
    policy::{AddressError, is_nobodys},
    problem::quoted,
    secret,
    shape::text,
};

/// An address and a port to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListenAddress(SocketAddr);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not an address with a port")]
pub struct ListenAddressError(String);

impl ListenAddress {
    /// A port that only this machine reaches.
    pub const fn local(port: u16) -> Self {
        Self(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }

    pub const fn get(self) -> SocketAddr {
        self.0
    }
}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self).map_err(|_not_one| ListenAddressError(quoted(text)))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

text!(
    ListenAddress,
    "an address with a port",
    help = "write it as `127.0.0.1:7180`, or `0.0.0.0:7180` for every network card"
);

/// An address that a browser could open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PublicUrl(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublicUrlError {
    #[error("{0} is not a URL")]
    Malformed(String),
    #[error("the URL holds a password")]
    Password,
}

impl PublicUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if secret::is_in_url(text) {
            return Err(PublicUrlError::Password);
        }
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let plain = |c: char| c.is_ascii_graphic() && !"\"<>\\^`{|}?#@".contains(c);
        let begins_well =
            |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
        match rest {
            Some(rest) if begins_well(rest) && rest.chars().all(plain) => Ok(Self(text.to_owned())),
            Some(_) | None => Err(PublicUrlError::Malformed(quoted(text))),
        }
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text!(
    PublicUrl,
    "a URL",
    help = "write it as `https://lamp.example.com`, without a password",
    pattern = "^https?://"
);

/// One address of a model. Other than a host in the company's network, it may be on this machine: a model that runs here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelAddress(IpAddr);

impl ModelAddress {
    pub const fn get(self) -> IpAddr {
        self.0
    }
}

impl FromStr for ModelAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address: IpAddr =
            text.parse().map_err(|_not_one| AddressError::Malformed(text.to_owned()))?;
        if is_nobodys(address) { Err(AddressError::Special(address)) } else { Ok(Self(address)) }
    }
}

impl fmt::Display for ModelAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

text!(
    ModelAddress,
    "an address",
    help = "write it as `127.0.0.1`, `10.1.2.3` or `fd12::1`; one address, not a range"
);

/// Where the server remembers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DatabaseUrl {
    /// A file, beside `lamp.yaml` unless its path is absolute.
    Sqlite { path: String },
    /// A server. Its password is not part of the URL.
    Postgres { url: String },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseUrlError {
    #[error("{0} is not a database that we know")]
    Unknown(String),
    #[error("the URL holds a password")]
    Password,
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if secret::is_in_url(text) || text.contains("password=") {
            return Err(DatabaseUrlError::Password);
        }
        let is_postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() => Ok(Self::Sqlite { path: path.to_owned() }),
            None if is_postgres => Ok(Self::Postgres { url: text.to_owned() }),
            Some(_) | None => Err(DatabaseUrlError::Unknown(quoted(text))),
        }
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite { path } => write!(f, "sqlite:{path}"),
            Self::Postgres { url } => f.write_str(url),
        }
    }
}

text!(
    DatabaseUrl,
    "a database",
    help = "write `sqlite:lamp.db` or `postgres://USER@HOST/NAME`; a password goes into the server's PGPASSFILE",
    pattern = "^(sqlite:|postgres://|postgresql://)"
);
