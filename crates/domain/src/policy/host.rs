//! Names of hosts, and patterns over them.
//!
//! A host is written in one way only: lower case, no trailing dot, no address.
//! What is written differently is refused rather than tidied up, because two
//! parsers that tidy differently are how allowlists are bypassed.

use std::{fmt, str::FromStr};

/// One host, in its canonical spelling. Never an IP address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    #[error("a host name is empty")]
    Empty,
    #[error("host `{}` contains `{}`; a host is written with a-z, 0-9, `-` and `.`",
        .host.escape_default(), .character.escape_default())]
    ForbiddenCharacter { host: String, character: char },
    #[error("host `{0}` has a label that is empty, too long, or begins or ends with `-`")]
    MalformedLabel(String),
    #[error("host `{0}` is longer than 253 characters")]
    TooLong(String),
    #[error("`{0}` is an address; rules name hosts")]
    Address(String),
    #[error("`*` would allow every host")]
    Everything,
    #[error("`{0}` would allow every host under a shared suffix")]
    TooWide(String),
    #[error("`{0}` has a `*` that is not its whole first label")]
    MisplacedWildcard(String),
}

impl HostName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = HostError;

    fn from_str(host: &str) -> Result<Self, Self::Err> {
        if host.is_empty() {
            return Err(HostError::Empty);
        }
        if host.parse::<std::net::IpAddr>().is_ok() {
            return Err(HostError::Address(host.to_owned()));
        }
        let allowed =
            |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        if let Some(character) = host.chars().find(|c| !allowed(*c)) {
            return Err(HostError::ForbiddenCharacter { host: host.to_owned(), character });
        }
        if host.len() > 253 {
            return Err(HostError::TooLong(host.to_owned()));
        }
        let malformed = |label: &str| {
            label.is_empty() || label.len() > 63 || label.starts_with('-') || label.ends_with('-')
        };
        if host.split('.').any(malformed) {
            return Err(HostError::MalformedLabel(host.to_owned()));
        }
        // `127.1` and `0x7f000001` are addresses to some resolvers.
        let last = host.rsplit('.').next().unwrap_or(host);
        let looks_numeric = last.starts_with("0x") || last.chars().all(|c| c.is_ascii_digit());
        if looks_numeric {
            return Err(HostError::Address(host.to_owned()));
        }
        Ok(Self(host.to_owned()))
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One host, or all hosts below one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostPattern {
    Exactly(HostName),
    /// `*.example.com`: every host below `example.com`, at any depth, without itself.
    Below(HostName),
}

/// Suffixes under which anyone may have a host: of hosters, tunnels, content networks and tenants of large services. A wildcard directly
/// below one of them is as good as `*`. Single labels (`*.com`) are refused without a list, and countries' own (`*.co.uk`) by
/// [`is_countrys`].
const SHARED_SUFFIXES: &[&str] = &[
    "a.run.app",
    "akamaihd.net",
    "akamaized.net",
    "amazonaws.com",
    "amplifyapp.com",
    "app.github.dev",
    "appspot.com",
    "atlassian.net",
    "awsapprunner.com",
    "awsglobalaccelerator.com",
    "azure-api.net",
    "azurecontainerapps.io",
    "azureedge.net",
    "azurefd.net",
    "azurestaticapps.net",
    "azurewebsites.net",
    "b-cdn.net",
    "backblazeb2.com",
    "bitbucket.io",
    "blob.core.windows.net",
    "blogspot.com",
    "bolt.host",
    "bore.pub",
    "burpcollaborator.net",
    "cdn.cloudflare.net",
    "cloudapp.azure.com",
    "cloudapp.net",
    "cloudfront.net",
    "cloudfunctions.net",
    "codesandbox.io",
    "core.windows.net",
    "csb.app",
    "ddns.net",
    "deno.dev",
    "digitaloceanspaces.com",
    "duckdns.org",
    "dyndns.org",
    "edgekey.net",
    "edgesuite.net",
    "elasticbeanstalk.com",
    "execute-api.amazonaws.com",
    "fastly.net",
    "file.core.windows.net",
    "firebaseapp.com",
    "firebaseio.com",
    "fly.dev",
    "force.com",
    "framer.app",
    "ghost.io",
    "github.io",
    "githubpreview.dev",
    "githubusercontent.com",
    "gitlab.io",
    "gitpod.io",
    "glitch.me",
    "global.ssl.fastly.net",
    "googleapis.com",
    "googleusercontent.com",
    "gradio.live",
    "herokuapp.com",
    "hf.space",
    "hopto.org",
    "interact.sh",
    "lhr.life",
    "linodeobjects.com",
    "loca.lt",
    "localtunnel.me",
    "lovable.app",
    "modal.run",
    "mongodb.net",
    "my.salesforce.com",
    "myjetbrains.com",
    "myshopify.com",
    "neon.tech",
    "netlify.app",
    "ngrok-free.app",
    "ngrok.app",
    "ngrok.dev",
    "ngrok.io",
    "nip.io",
    "no-ip.com",
    "no-ip.org",
    "notion.site",
    "now.sh",
    "oast.fun",
    "oast.live",
    "oast.me",
    "oast.online",
    "oast.pro",
    "oast.site",
    "oastify.com",
    "on.aws",
    "ondigitalocean.app",
    "onmicrosoft.com",
    "onrender.com",
    "pagekite.me",
    "pages.dev",
    "pinggy.io",
    "pipedream.net",
    "queue.core.windows.net",
    "r2.dev",
    "railway.app",
    "repl.co",
    "replit.app",
    "replit.dev",
    "requestbin.net",
    "run.app",
    "s3.amazonaws.com",
    "serveo.net",
    "servicebus.windows.net",
    "sharepoint.com",
    "shopifypreview.com",
    "squarespace.com",
    "sslip.io",
    "stackblitz.io",
    "storage.googleapis.com",
    "streamlit.app",
    "supabase.co",
    "surge.sh",
    "sytes.net",
    "trafficmanager.net",
    "translate.goog",
    "trycloudflare.com",
    "tumblr.com",
    "tunnelmole.net",
    "up.railway.app",
    "upstash.io",
    "vercel.app",
    "wasabisys.com",
    "web.app",
    "web.core.windows.net",
    "webcontainer.io",
    "webflow.io",
    "webhook.site",
    "weebly.com",
    "wixsite.com",
    "wordpress.com",
    "workers.dev",
    "xip.io",
    "zapto.org",
    "zendesk.com",
];

/// What countries call the places where anyone registers: `co.uk`, `com.au`, `or.jp`.
const SECOND_LABELS: [&str; 24] = [
    "ac", "asn", "biz", "co", "com", "edu", "go", "gob", "gov", "gouv", "gv", "id", "info", "ltd",
    "me", "mil", "ne", "net", "nom", "or", "org", "plc", "sch", "web",
];

/// Whether this is where a country has people register.
fn is_countrys(parent: &str) -> bool {
    let Some((second, country)) = parent.split_once('.') else { return false };
    country.len() == 2 && SECOND_LABELS.contains(&second)
}

impl HostPattern {
    pub fn matches(&self, host: &HostName) -> bool {
        match self {
            Self::Exactly(name) => name == host,
            Self::Below(parent) => is_below(host, parent),
        }
    }

    /// Whether every host that `other` matches is matched by this one.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exactly(_) | Self::Below(_), Self::Exactly(host)) => self.matches(host),
            (Self::Exactly(_), Self::Below(_)) => false,
            (Self::Below(outer), Self::Below(inner)) => outer == inner || is_below(inner, outer),
        }
    }
}

fn is_below(host: &HostName, parent: &HostName) -> bool {
    host.as_str().strip_suffix(parent.as_str()).is_some_and(|rest| rest.ends_with('.'))
}

impl FromStr for HostPattern {
    type Err = HostError;

    fn from_str(pattern: &str) -> Result<Self, Self::Err> {
        if pattern == "*" {
            return Err(HostError::Everything);
        }
        let Some(parent) = pattern.strip_prefix("*.") else {
            if pattern.contains('*') {
                return Err(HostError::MisplacedWildcard(pattern.to_owned()));
            }
            return pattern.parse().map(Self::Exactly);
        };
        if parent.contains('*') {
            return Err(HostError::MisplacedWildcard(pattern.to_owned()));
        }
        let is_shared = SHARED_SUFFIXES.contains(&parent) || is_countrys(parent);
        if !parent.contains('.') || is_shared {
            return Err(HostError::TooWide(pattern.to_owned()));
        }
        parent.parse().map(Self::Below)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(host) => write!(f, "{host}"),
            Self::Below(parent) => write!(f, "*.{parent}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_not_one_host_in_one_spelling() {
        let refused = |text: &str| text.parse::<HostPattern>().unwrap_err().to_string();
        let all = [
            "",
            "*",
            "*.com",
            "*.co.uk",
            "*.github.io",
            "*.gob.mx",
            "*.trycloudflare.com",
            "a.*.com",
            "*a.example.com",
            "Example.com",
            "example.com.",
            "exa mple.com",
            "-a.example",
            "10.0.0.1",
            "127.1",
            "0x7f000001",
            "::1",
            "a..b",
            "ex\u{e4}mple.com",
            "a\0.example.com",
        ];
        let told: Vec<String> =
            all.iter().map(|text| format!("{text:?}: {}", refused(text))).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        "": a host name is empty
        "*": `*` would allow every host
        "*.com": `*.com` would allow every host under a shared suffix
        "*.co.uk": `*.co.uk` would allow every host under a shared suffix
        "*.github.io": `*.github.io` would allow every host under a shared suffix
        "*.gob.mx": `*.gob.mx` would allow every host under a shared suffix
        "*.trycloudflare.com": `*.trycloudflare.com` would allow every host under a shared suffix
        "a.*.com": `a.*.com` has a `*` that is not its whole first label
        "*a.example.com": `*a.example.com` has a `*` that is not its whole first label
        "Example.com": host `Example.com` contains `E`; a host is written with a-z, 0-9, `-` and `.`
        "example.com.": host `example.com.` has a label that is empty, too long, or begins or ends with `-`
        "exa mple.com": host `exa mple.com` contains ` `; a host is written with a-z, 0-9, `-` and `.`
        "-a.example": host `-a.example` has a label that is empty, too long, or begins or ends with `-`
        "10.0.0.1": `10.0.0.1` is an address; rules name hosts
        "127.1": `127.1` is an address; rules name hosts
        "0x7f000001": `0x7f000001` is an address; rules name hosts
        "::1": `::1` is an address; rules name hosts
        "a..b": host `a..b` has a label that is empty, too long, or begins or ends with `-`
        "exämple.com": host `ex\u{e4}mple.com` contains `\u{e4}`; a host is written with a-z, 0-9, `-` and `.`
        "a\0.example.com": host `a\u{0}.example.com` contains `\u{0}`; a host is written with a-z, 0-9, `-` and `.`
        "#);
    }

    #[test]
    fn a_wildcard_matches_below_and_not_itself() {
        let pattern: HostPattern = "*.example.com".parse().unwrap();
        let matches = |host: &str| pattern.matches(&host.parse().unwrap());
        assert!(matches("a.example.com") && matches("a.b.example.com"));
        assert!(!matches("example.com") && !matches("badexample.com"));
    }
}
