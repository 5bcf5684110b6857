//! Whether what a request asks of a model reaches further than the model.
//!
//! The proxy has read the body and names what stands in it. Only tools that run in the sandbox are let through, and content is sent, not
//! fetched.

use proxy::ask::{
    Said,
    said::{Fetches, ModelBody},
};

use super::{Provider, ProviderTools};

/// What has to be known to put a price on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub model: Option<String>,
    /// The most that the answer may have.
    pub most_output_tokens: Option<u64>,
    pub body_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("the body is not JSON that can be read in one way only: {0}")]
    Malformed(String),
    #[error("the tool `{0}` runs at the provider and could carry data past the gateway")]
    Tool(String),
    #[error("`{0}` has the provider fetch from an address that nobody has judged")]
    Fetch(&'static str),
}

/// Judges what is said of a body.
pub fn judge(provider: &Provider, tools: ProviderTools, said: &Said) -> Result<Wanted, BodyError> {
    let body = match said {
        Said::Model(body) => body,
        Said::Unreadable(why) => return Err(BodyError::Malformed(why.clone())),
        Said::Graphql(_) | Said::PullRequest(_) => {
            return Err(BodyError::Malformed("it was read as something else".to_owned()));
        }
    };
    match tools {
        ProviderTools::Allowed => {}
        ProviderTools::Refused => check(provider, body)?,
    }
    let ModelBody { model, most_output_tokens, bytes, connects: _, tools: _, fetches: _ } = body;
    Ok(Wanted { model: model.clone(), most_output_tokens: *most_output_tokens, body_bytes: *bytes })
}

fn check(provider: &Provider, body: &ModelBody) -> Result<(), BodyError> {
    if let Some(connects) = body.connects {
        return Err(BodyError::Tool(connects.as_str().to_owned()));
    }
    if let Some(kind) = body.tools.iter().find(|kind| !is_known(provider, kind)) {
        return Err(BodyError::Tool(kind.clone()));
    }
    body.fetches.map(Fetches::as_str).map_or(Ok(()), |what| Err(BodyError::Fetch(what)))
}

fn is_known(provider: &Provider, kind: &str) -> bool {
    provider.tools.iter().any(|known| match known.strip_suffix('*') {
        Some(start) => kind.starts_with(start),
        None => known == kind,
    })
}
