//! Recognises values that must not be in a file.
//!
//! A list of well-known prefixes, not a measure of randomness: a false alarm on
//! a commit hash would teach people to ignore it.

/// A beginning that gives a secret away, and the least length of the whole.
const PREFIXES: [(&str, usize); 20] = [
    ("sk-", 20),
    ("sk_live_", 16),
    ("rk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xapp-", 16),
    ("lin_api_", 16),
    ("npm_", 24),
    ("pypi-", 24),
    ("hf_", 24),
    ("AIza", 30),
    ("AKIA", 20),
    ("eyJhbGciOi", 30),
];

/// Endings of names whose values are secret.
const NAMES: [&str; 9] = [
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "TOKEN",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "PRIVATE_KEY",
    "CREDENTIALS",
];

/// Whether `text` begins like a credential of a service that we know.
pub(crate) fn looks_like_one(text: &str) -> bool {
    let text = text.trim();
    let has_prefix = PREFIXES.iter().any(|(prefix, least)| {
        text.len() >= *least && text.starts_with(prefix) && !text.contains(char::is_whitespace)
    });
    has_prefix || (text.starts_with("-----BEGIN ") && text.contains("PRIVATE KEY"))
}

/// Whether a variable of this name holds a secret.
pub(crate) fn is_name_of_one(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace('-', "_");
    NAMES.iter().any(|ending| name.ends_with(ending))
}

/// Whether a URL carries a password: `scheme://user:password@host`.
pub(crate) fn is_in_url(url: &str) -> bool {
    let Some((_scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let user = authority.rsplit_once('@').map(|(user, _host)| user);
    user.is_some_and(|user| user.split_once(':').is_some_and(|(_, password)| !password.is_empty()))
}

/// What to do instead.
pub(crate) const HELP: &str =
    "take it out of the file, revoke it, and store its successor with `lamp secret set NAME`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_credentials_from_ordinary_text() {
        for text in [
            "ghp_0123456789abcdefghij",
            "AKIAIOSFODNN7EXAMPLE",
            "-----BEGIN RSA PRIVATE KEY-----\nx",
        ] {
            assert!(looks_like_one(text), "{text}");
        }
        for text in [
            "sk-short",
            "skeleton",
            "info",
            "97305fdaa1b2c3d4e5f60718293a4b5c6d7e8f90",
            "npm_config",
        ] {
            assert!(!looks_like_one(text), "{text}");
        }
        assert!(is_name_of_one("AWS_SECRET_ACCESS_KEY") && is_name_of_one("db-password"));
        assert!(!is_name_of_one("LOG_LEVEL") && !is_name_of_one("TOKEN_LIMIT"));
        assert!(
            is_in_url("postgres://lamp:hunter2@db/lamp") && !is_in_url("postgres://lamp@db/lamp")
        );
    }
}
