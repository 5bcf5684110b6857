//! Where the model is, and who carries the request there.
//!
//! Names are not resolved: the program is static, and a static resolver would load libraries of an image that it knows nothing of.
//! Inside a sandbox the proxy stands at an address, and takes the name.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// A URL with `http`, cut into its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    host: String,
    port: u16,
    path: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    model: Place,
    dial: SocketAddr,
    way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Direct,
    Proxy,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error("{0}")]
    Model(&'static str),
    #[error("{0}")]
    Proxy(&'static str),
}

impl Address {
    /// `direct` lists the hosts that are reached without the proxy, as `no_proxy` does.
    pub fn new(url: &str, proxy: Option<&str>, direct: &str) -> Result<Self, AddressError> {
        let model = Place::parse(url).map_err(AddressError::Model)?;
        let proxy = proxy.filter(|_| !is_direct(&model.host, direct));
        let (dial, way) = match proxy {
            Some(proxy) => {
                let proxy = Place::parse(proxy).map_err(AddressError::Proxy)?;
                (proxy.dial().map_err(AddressError::Proxy)?, Way::Proxy)
            }
            None => (model.dial().map_err(AddressError::Model)?, Way::Direct),
        };
        Ok(Self { model, dial, way })
    }

    pub(super) fn dial(&self) -> SocketAddr {
        self.dial
    }

    /// What stands in `Host`.
    pub(super) fn authority(&self) -> String {
        match self.model.port {
            80 => self.model.host.clone(),
            port => format!("{}:{port}", self.model.host),
        }
    }

    /// The path for `end`, such as `/v1/messages`. A version that the URL ends with is not said twice.
    pub(super) fn path(&self, end: &str) -> String {
        let base = self.model.path.trim_end_matches('/');
        let last = base.rsplit('/').next().unwrap_or("");
        let end = end
            .strip_prefix('/')
            .and_then(|end| end.strip_prefix(last))
            .filter(|rest| rest.starts_with('/') && !last.is_empty())
            .unwrap_or(end);
        format!("{base}{end}")
    }

    /// What the first line of a request names.
    pub(super) fn target(&self, path: &str) -> String {
        match self.way {
            Way::Direct => path.to_owned(),
            Way::Proxy => format!("http://{}{path}", self.authority()),
        }
    }
}

impl Place {
    fn parse(url: &str) -> Result<Self, &'static str> {
        let rest = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => {
                return Err("it needs TLS, which this program leaves to the gateway");
            }
            Some(_) | None => return Err("it does not begin with `http://`"),
        };
        let (authority, path) = match rest.find('/') {
            Some(at) => rest.split_at_checked(at).unwrap_or((rest, "")),
            None => (rest, ""),
        };
        if authority.contains('@') {
            return Err("it has a user or a password, which is not supported");
        }
        let is_path = |byte: u8| byte.is_ascii_graphic() && !b"?#\"<>\\^`{|}".contains(&byte);
        if path.len() > 1000 || !path.bytes().all(is_path) {
            return Err("its path has a character that does not belong there");
        }
        let (host, port) = match authority.strip_prefix('[') {
            Some(inside) => {
                let (host, after) = inside.split_once(']').ok_or("a `]` is missing")?;
                (format!("[{host}]"), after.strip_prefix(':'))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host.to_owned(), Some(port)),
                None => (authority.to_owned(), None),
            },
        };
        let port = match port {
            None | Some("") => 80,
            Some(port) => port.parse().map_err(|_| "its port is not a number")?,
        };
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        if host.is_empty() || host.len() > 253 || !host.bytes().all(is_host) {
            return Err("its host is not a name or an address");
        }
        Ok(Self { host: host.to_ascii_lowercase(), port, path: path.to_owned() })
    }

    fn dial(&self) -> Result<SocketAddr, &'static str> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let address = match host {
            "localhost" => IpAddr::V4(Ipv4Addr::LOCALHOST),
            host => host
                .parse()
                .map_err(|_| "names are not looked up here: set `http_proxy`, or use an address")?,
        };
        Ok(SocketAddr::new(address, self.port))
    }
}

/// Whether `host` is in the list: exactly, or below an entry, with or without a dot before it.
fn is_direct(host: &str, list: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).any(|entry| {
        let entry = entry.trim_start_matches("*.").trim_start_matches('.').to_ascii_lowercase();
        let name = match entry.rsplit_once(':') {
            Some((name, port)) if port.parse::<u16>().is_ok() && !name.contains(':') => name,
            Some(_) | None => entry.as_str(),
        };
        name == "*" || bare == name || bare.strip_suffix(name).is_some_and(|it| it.ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROXY: Option<&str> = Some("http://127.0.0.1:3128");

    #[test]
    fn the_proxy_is_told_the_whole_address() {
        let at = Address::new("http://model.lamp.internal/anthropic", PROXY, "localhost").unwrap();
        assert_eq!(at.dial().to_string(), "127.0.0.1:3128");
        assert_eq!(
            at.target(&at.path("/v1/messages")),
            "http://model.lamp.internal/anthropic/v1/messages"
        );
    }

    #[test]
    fn no_proxy_is_honoured() {
        for (url, list, proxied) in [
            ("http://127.0.0.1:8080/", "localhost,127.0.0.1,::1", false),
            ("http://[::1]:8080/", "localhost,127.0.0.1,::1", false),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080", false),
            ("http://localhost/", "*", false),
            ("http://a.example.com/", "b.example.com,ample.com", true),
            ("http://127.0.0.10/", "127.0.0.1", true),
        ] {
            let at = Address::new(url, PROXY, list).unwrap();
            assert_eq!(at.dial().port() == 3128, proxied, "{url} {list}");
        }
        assert!(is_direct("a.example.com", ".example.com"));
        assert!(is_direct("a.example.com", "*.example.com"));
    }

    #[test]
    fn a_version_is_not_said_twice() {
        for (url, end, path) in [
            ("http://1.1.1.1/openai", "/v1/chat/completions", "/openai/v1/chat/completions"),
            ("http://1.1.1.1/openai/v1/", "/v1/chat/completions", "/openai/v1/chat/completions"),
            ("http://1.1.1.1", "/v1/messages", "/v1/messages"),
            ("http://1.1.1.1/v1b", "/v1/messages", "/v1b/v1/messages"),
        ] {
            assert_eq!(Address::new(url, None, "").unwrap().path(end), path);
        }
    }

    #[test]
    fn addresses_that_lead_nowhere_are_refused() {
        for url in [
            "https://api.example.com",
            "http://",
            "http://a b/",
            "http://x/\r\nhost: y",
            "http://x/?a=b",
            "http://user@x/",
            "http://x:99999/",
            "ftp://x",
            "x",
            "http://[::1/",
        ] {
            assert!(matches!(Address::new(url, PROXY, ""), Err(AddressError::Model(_))), "{url}");
        }
        assert!(Address::new("http://named.example.com", None, "").is_err());
        assert!(Address::new("http://x", Some("http://named.example.com"), "").is_err());
    }
}
