//! Addresses that we put into texts: only those that a server's operator gave, and only harmless ones.

use std::{fmt, str::FromStr};

/// An address that stays whole inside Markdown: `http` or `https`, without a letter that could end it or a name with a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an address that can be shown: it should begin with `https://` or `http://` and a host, and be written with \
     letters, digits and `-._~/?#%&=+,:;@` alone, 1,000 at most"
)]
pub struct LinkError(pub String);

impl Link {
    pub const LIMIT: usize = 1000;

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Link {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        let wrong = || LinkError(crate::visible::line(text, 200));
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let rest = rest.ok_or_else(wrong)?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/?#%&=+,:;@".contains(&byte);
        let is_harmless = !host.is_empty() && !host.contains('@') && rest.bytes().all(plain);
        if is_harmless && text.len() <= Self::LIMIT {
            return Ok(Self(text.to_owned()));
        }
        Err(wrong())
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_cannot_end_its_place() {
        assert!("https://lamp.example/tasks/t_01?x=1#log".parse::<Link>().is_ok());
        assert!("http://127.0.0.1:7171/".parse::<Link>().is_ok());
        for wrong in [
            "",
            "https://",
            "https:///x",
            "javascript:alert(1)",
            "HTTPS://x/",
            "https://good@evil.example/",
            "https://x/a)b",
            "https://x/a b",
            "https://x/<b>",
            "https://x/`",
            "https://x/\n",
            "https://x/é",
        ] {
            assert!(wrong.parse::<Link>().is_err(), "{wrong}");
        }
    }
}
