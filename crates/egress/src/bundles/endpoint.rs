//! One place on the network: a host, a port, and where on it.

use std::{fmt, str::FromStr};

use domain::policy::{HostName, PathPattern, RequestPath};

use proxy::ask::Scheme;

/// A host with a port and the paths at and below one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    scheme: EndpointScheme,
    host: HostName,
    port: u16,
    /// Without a final `/`; empty for the whole host.
    root: String,
}

/// [`Scheme`], with an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EndpointScheme {
    Http,
    Https,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a place: {why}; write it as `https://host/path`")]
pub struct EndpointError {
    pub text: String,
    pub why: String,
}

impl Endpoint {
    pub fn new(scheme: Scheme, host: HostName, port: u16, root: &str) -> Self {
        let scheme = match scheme {
            Scheme::Http => EndpointScheme::Http,
            Scheme::Https => EndpointScheme::Https,
        };
        Self { scheme, host, port, root: root.trim_end_matches('/').to_owned() }
    }

    pub const fn scheme(&self) -> Scheme {
        match self.scheme {
            EndpointScheme::Http => Scheme::Http,
            EndpointScheme::Https => Scheme::Https,
        }
    }

    pub const fn host(&self) -> &HostName {
        &self.host
    }

    pub const fn port(&self) -> u16 {
        self.port
    }

    pub fn root(&self) -> &str {
        &self.root
    }

    /// Whether something of it is at this host and port.
    pub fn is_at(&self, host: &HostName, port: Option<u16>) -> bool {
        self.host == *host && port.is_none_or(|port| self.port == port)
    }

    pub fn contains(&self, scheme: Scheme, host: &HostName, port: u16, path: &RequestPath) -> bool {
        self.scheme() == scheme
            && self.is_at(host, Some(port))
            && PathPattern::Below(self.root.clone()).matches(path)
    }

    /// The same host and port, all of it.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self { root: String::new(), ..self.clone() }
    }
}

/// `https://host`, `http://host:8080/path/`. Capital letters of the host are made small, as every client does; a user or a
/// password before the host belongs to the client, and is left out.
impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why: &str| EndpointError { text: without_user(text), why: why.to_owned() };
        let (scheme, rest) = match text.split_once("://") {
            Some(("https", rest)) => (Scheme::Https, rest),
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(_) | None => return Err(wrong("it begins with neither `https://` nor `http://`")),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at(at),
            None => (rest, "/"),
        };
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        };
        let port = match (port, scheme) {
            (Some(port), Scheme::Http | Scheme::Https) => port
                .parse()
                .ok()
                .filter(|port| *port != 0)
                .ok_or_else(|| wrong("its port is not a port"))?,
            (None, Scheme::Https) => 443,
            (None, Scheme::Http) => 80,
        };
        let host: HostName = host
            .to_ascii_lowercase()
            .parse()
            .map_err(|error: domain::policy::HostError| wrong(&error.to_string()))?;
        let path = path.split(['?', '#']).next().unwrap_or("/");
        let path: RequestPath =
            path.parse().map_err(|error: domain::policy::PathError| wrong(&error.to_string()))?;
        Ok(Self::new(scheme, host, port, path.as_str()))
    }
}

/// A password is never shown, not even in an error.
fn without_user(text: &str) -> String {
    match text.split_once('@') {
        Some((before, after)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://…@{after}")
        }
        None => text.to_owned(),
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = match self.scheme {
            EndpointScheme::Http => ("http", 80),
            EndpointScheme::Https => ("https", 443),
        };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port != usual {
            write!(f, ":{}", self.port)?;
        }
        write!(f, "{}/", self.root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_clients_read_it() {
        let read = |text: &str| match text.parse::<Endpoint>() {
            Ok(place) => place.to_string(),
            Err(error) => error.to_string(),
        };
        let told: Vec<String> = [
            "https://npm.corp.example.com/",
            "https://user:pass@Mirror.example.com:8443/a/b/?x#y",
            "http://mirror.example.com/debian",
            "http://10.0.0.1/x",
            "http://a.example.com:0/",
            "ftp://a.example.com",
            "https://me:pass@/x",
            "a.example.com",
            "https://a.example.com/x/../y",
        ]
        .map(read)
        .to_vec();
        insta::assert_snapshot!(told.join("\n"), @r"
        https://npm.corp.example.com/
        https://mirror.example.com:8443/a/b/
        http://mirror.example.com/debian/
        `http://10.0.0.1/x` is not a place: `10.0.0.1` is an address; rules name hosts; write it as `https://host/path`
        `http://a.example.com:0/` is not a place: its port is not a port; write it as `https://host/path`
        `ftp://a.example.com` is not a place: it begins with neither `https://` nor `http://`; write it as `https://host/path`
        `https://…@/x` is not a place: a host name is empty; write it as `https://host/path`
        `a.example.com` is not a place: it begins with neither `https://` nor `http://`; write it as `https://host/path`
        `https://a.example.com/x/../y` is not a place: path `/x/../y` has an empty, `.` or `..` segment; write it as `https://host/path`
        ");
    }

    #[test]
    fn a_place_ends_where_its_path_ends() {
        let place: Endpoint = "https://a.example.com/npm".parse().unwrap();
        let contains = |port: u16, path: &str| {
            let path = path.parse().unwrap();
            place.contains(Scheme::Https, &"a.example.com".parse().unwrap(), port, &path)
        };
        assert!(contains(443, "/npm") && contains(443, "/npm/x"));
        assert!(!contains(443, "/npmx") && !contains(443, "/") && !contains(8443, "/npm"));
    }
}
