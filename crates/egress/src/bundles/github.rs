//! GitHub: where it is, and which requests read.
//!
//! Everything may be read. A write belongs to the bundle only when it is one of the few operations that the task's own pull request
//! needs; which these are is decided in [`crate::github`].

use contracts::egress::Push;
use domain::policy::{HostName, Method};
use serde::Deserialize;

use super::Asked;
use crate::github::{Task, TaskBranch};
use proxy::ask::Scheme;

/// One GitHub: the public one, or a company's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubHosts {
    /// Where repositories are.
    pub git: HostName,
    pub api: HostName,
    /// Comes before the REST API's paths.
    pub rest: String,
    /// The path of the GraphQL API.
    pub graphql: String,
    pub reading: Vec<HostName>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    about: String,
    git: String,
    api: Api,
    reading: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Api {
    host: String,
    rest: String,
    graphql: String,
}

/// How a request of the API is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiRequest {
    /// The path behind the API's own root.
    Rest {
        path: String,
    },
    Graphql,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataError {
    #[error(transparent)]
    Host(#[from] domain::policy::HostError),
    #[error("{0}")]
    Shape(String),
}

impl GithubHosts {
    pub fn public() -> Result<Self, DataError> {
        let data = data()?;
        let reading = data.reading.iter().map(|host| host.parse()).collect::<Result<_, _>>()?;
        Ok(Self {
            git: data.git.parse()?,
            api: data.api.host.parse()?,
            rest: data.api.rest,
            graphql: data.api.graphql,
            reading,
        })
    }

    /// A company's own server, which has everything on one host.
    pub fn enterprise(host: &HostName) -> Self {
        Self {
            git: host.clone(),
            api: host.clone(),
            rest: "/api/v3".to_owned(),
            graphql: "/api/graphql".to_owned(),
            reading: vec![host.clone()],
        }
    }

    pub fn is_at(&self, host: &HostName) -> bool {
        self.git == *host || self.api == *host || self.reading.contains(host)
    }

    /// Whether the request only reads.
    pub fn reads(&self, asked: &Asked<'_>) -> bool {
        let is_reading = matches!(asked.method, Method::Get | Method::Head);
        is_reading
            && asked.scheme == Scheme::Https
            && asked.port == 443
            && self.reading.contains(asked.host)
    }

    /// What a task with these rights may touch here.
    pub fn task(&self, pushes: &[Push]) -> Task {
        let here = pushes.iter().filter(|push| push.host == self.git);
        let branch = |push: &Push| TaskBranch {
            repository: push.repository.clone(),
            branch: push.branch.clone(),
        };
        Task { pushes: here.map(branch).collect() }
    }

    /// The request of the API that this is, if it is one.
    pub fn api_request(&self, asked: &Asked<'_>) -> Option<ApiRequest> {
        if asked.scheme != Scheme::Https || asked.port != 443 || self.api != *asked.host {
            return None;
        }
        let path = asked.path.as_str();
        if path == self.graphql {
            return Some(ApiRequest::Graphql);
        }
        let rest = path.strip_prefix(self.rest.as_str())?;
        rest.starts_with('/').then(|| ApiRequest::Rest { path: rest.to_owned() })
    }
}

fn data() -> Result<Data, DataError> {
    serde_json::from_str(include_str!("github.json"))
        .map_err(|error| DataError::Shape(error.to_string()))
}

/// What the bundle is for, for the reference.
pub fn about() -> Result<String, DataError> {
    Ok(data()?.about)
}
