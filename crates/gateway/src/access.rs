//! Who may come in by the loopback.
//!
//! Any program of any user of this computer can reach the loopback, and so can every web page in a browser on it. So
//! a request must show the token, which only the owner can read; and what a browser sends for a page of another
//! origin, or under a name that somebody pointed at 127.0.0.1 (DNS rebinding), is refused before that.

use std::{fmt, sync::Arc};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, Uri, header},
    middleware::Next,
    response::Response,
};
use domain::digest::Digest;
use wire::error::{Code, Problem};

use crate::problem::Answer;

/// What a caller must show. Kept as its hash, and compared in constant time.
#[derive(Clone)]
pub struct Token(Digest);

impl Token {
    pub fn new(secret: &str) -> Self {
        Self(Digest::of(secret.as_bytes()))
    }

    fn is(&self, shown: &str) -> bool {
        let shown = Digest::of(shown.as_bytes());
        let pairs = self.0.as_bytes().iter().zip(shown.as_bytes());
        pairs.fold(0u8, |difference, (ours, theirs)| difference | (ours ^ theirs)) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The names under which the loopback may be called.
const NAMES: &[&str] = &["127.0.0.1", "localhost", "[::1]"];

/// The one address that tells nothing, for those who only want to know whether a server is there.
const OPEN: &str = "/v1/health";

pub(crate) async fn guard(
    State((token, port)): State<(Arc<Token>, u16)>,
    request: Request,
    next: Next,
) -> Answer<Response> {
    check(&token, port, request.headers(), request.uri())?;
    Ok(next.run(request).await)
}

fn check(token: &Token, port: u16, headers: &HeaderMap, uri: &Uri) -> Answer<()> {
    let forbidden = |what: &str| Problem::new(Code::Forbidden, what);
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    if !host.is_some_and(|host| is_ours(host, port)) || hosts.next().is_some() {
        let message = "this server is only called as 127.0.0.1, localhost or [::1], with its port";
        return Err(forbidden(message).into());
    }
    for origin in headers.get_all(header::ORIGIN) {
        let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        if !origin.is_some_and(|origin| is_ours(origin, port)) {
            return Err(forbidden("pages of other origins may not call this server").into());
        }
    }
    if uri.path() == OPEN {
        return Ok(());
    }
    let shown = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|value| value.strip_prefix("Bearer "));
    if shown.is_some_and(|shown| token.is(shown)) {
        return Ok(());
    }
    Err(Problem::new(Code::Unauthorized, "the token is missing or wrong")
        .with_help(
            "it is in the file `token` of the server's data directory; or use the unix socket",
        )
        .into())
}

/// `127.0.0.1:7180`, and nothing that merely begins so.
fn is_ours(authority: &str, port: u16) -> bool {
    let named = authority.rsplit_once(':');
    named.is_some_and(|(name, told)| NAMES.contains(&name) && told == port.to_string())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn asked(path: &'static str, headers: &[(HeaderName, &'static str)]) -> Option<Code> {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect();
        let token = Token::new("secret");
        let checked = check(&token, 7180, &headers, &Uri::from_static(path));
        checked.err().map(|trouble| trouble.0.code)
    }

    const RIGHT: (HeaderName, &str) = (header::AUTHORIZATION, "Bearer secret");
    const HOST: (HeaderName, &str) = (header::HOST, "127.0.0.1:7180");

    #[test]
    fn only_the_token_opens() {
        assert_eq!(asked("/v1/sandboxes", &[HOST, RIGHT]), None);
        for wrong in ["Bearer", "Bearer ", "Bearer secre", "Bearer secret2", "secret", "bearer x"] {
            let shown = (header::AUTHORIZATION, wrong);
            assert_eq!(asked("/v1/sandboxes", &[HOST, shown]), Some(Code::Unauthorized), "{wrong}");
        }
        assert_eq!(asked("/v1/sandboxes", &[HOST]), Some(Code::Unauthorized));
        assert_eq!(asked("/v1/health", &[HOST]), None);
    }

    #[test]
    fn a_foreign_name_is_refused_even_with_the_token() {
        for host in ["evil.example:7180", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.evil:7180", ""] {
            let host = (header::HOST, host);
            assert_eq!(asked("/v1/sandboxes", &[host.clone(), RIGHT]), Some(Code::Forbidden));
            assert_eq!(asked("/v1/health", &[host]), Some(Code::Forbidden));
        }
        assert_eq!(asked("/v1/health", &[]), Some(Code::Forbidden));
        let twice = asked("/v1/health", &[HOST, (header::HOST, "evil.example")]);
        // A map of headers keeps the last of one name unless they are appended; both ways it is refused.
        assert_eq!(twice, Some(Code::Forbidden));
    }

    #[test]
    fn a_page_of_another_origin_is_refused_even_with_the_token() {
        for origin in
            ["http://evil.example", "null", "https://127.0.0.1:7180", "http://127.0.0.1:1"]
        {
            let origin = (header::ORIGIN, origin);
            assert_eq!(asked("/v1/sandboxes", &[HOST, RIGHT, origin]), Some(Code::Forbidden));
        }
        let own = (header::ORIGIN, "http://localhost:7180");
        assert_eq!(asked("/v1/sandboxes", &[HOST, RIGHT, own]), None);
    }

    #[test]
    fn a_token_is_never_printed() {
        assert_eq!(format!("{:?}", Token::new("secret")), "Token(…)");
    }
}
