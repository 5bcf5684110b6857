//! Where a server is: a socket's path, or an address on the loopback with its token.

use std::{fmt, path::PathBuf, str::FromStr};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};

use super::ClientError;

#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    Unix(PathBuf),
    Http {
        /// `127.0.0.1:7180`
        authority: String,
        /// Shown to the server with every call. Never printed.
        token: Option<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no server: write the path of its socket, or `http://127.0.0.1:7180`; other hosts need TLS, which is not here yet"
)]
pub struct EndpointError(String);

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let wrong = || EndpointError(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        if let Some(rest) = text.strip_prefix("http://") {
            let authority = rest.strip_suffix('/').unwrap_or(rest);
            let (host, port) = authority.rsplit_once(':').ok_or_else(wrong)?;
            let is_near = ["127.0.0.1", "localhost", "[::1]"].contains(&host);
            // A token must not travel over a network in the clear.
            if is_near && port.parse::<u16>().is_ok() {
                return Ok(Self::Http { authority: authority.to_owned(), token: None });
            }
            return Err(wrong());
        }
        if text.contains("://") || text.is_empty() {
            return Err(wrong());
        }
        Ok(Self::Unix(PathBuf::from(text)))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => path.display().fmt(f),
            Self::Http { authority, .. } => write!(f, "http://{authority}"),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A byte stream, whatever it is made of.
pub(super) trait Both: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + fmt::Debug + Send + Unpin> Both for T {}

impl Endpoint {
    pub(super) async fn connect(&self) -> Result<Box<dyn Both>, ClientError> {
        let stream: std::io::Result<Box<dyn Both>> = match self {
            Self::Unix(path) => UnixStream::connect(path).await.map(|it| Box::new(it) as _),
            Self::Http { authority, .. } => {
                TcpStream::connect(authority).await.map(|it| Box::new(it) as _)
            }
        };
        stream.map_err(|source| ClientError::NoServer { at: self.to_string(), source })
    }

    /// What the `Host` header says.
    pub(super) fn host(&self) -> &str {
        match self {
            Self::Unix(_) => "localhost",
            Self::Http { authority, .. } => authority,
        }
    }

    pub(super) fn authorization(&self) -> Option<String> {
        match self {
            Self::Unix(_) | Self::Http { token: None, .. } => None,
            Self::Http { token: Some(token), .. } => Some(format!("Bearer {token}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_path_or_an_address_nearby() {
        let unix = |path: &str| Endpoint::Unix(PathBuf::from(path));
        assert_eq!("/run/x.sock".parse(), Ok(unix("/run/x.sock")));
        assert_eq!("unix:x.sock".parse(), Ok(unix("x.sock")));
        let near: Endpoint = "http://127.0.0.1:7180/".parse().unwrap();
        assert_eq!(near.to_string(), "http://127.0.0.1:7180");
        for wrong in ["", "http://example.com:80", "https://localhost:1", "http://127.0.0.1"] {
            assert!(wrong.parse::<Endpoint>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_token_is_never_printed() {
        let endpoint = Endpoint::Http {
            authority: "127.0.0.1:1".to_owned(),
            token: Some("secret".to_owned()),
        };
        assert!(!format!("{endpoint} {endpoint:?}").contains("secret"));
    }
}
