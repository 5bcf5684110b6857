//! The API, called from a program: over a unix socket, or over HTTP on the loopback with a token.
//!
//! One connection per call: there are few calls, and a connection that is never reused is never stale.

mod agent;
mod connection;
mod endpoint;
mod error;
mod exec;
mod lines;
mod pulls;
mod secrets;
mod socket;
mod task_path;
mod task_stream;
mod tasks;

use bytes::Bytes;
use futures::Stream;
use hyper::{Method, StatusCode};
use serde::{Serialize, de::DeserializeOwned};
use tokio_util::task::TaskTracker;

pub use agent::{AgentHearing, AgentTalking};
pub use endpoint::{Endpoint, EndpointError};
pub use error::ClientError;
pub use exec::{ExecEvent, ExecHearing, ExecTalking};
pub use task_stream::TaskStream;

use self::connection::Answer;
use crate::{
    agent::{Agents, AgentsInside, AgentsQuery, StartAgent},
    egress::{
        EgressLog, EgressLogQuery, ExplainEgress, ExplainedEgress, LearnedEgress, ReloadedPolicy,
    },
    exec::StartExec,
    files::{Entries, Entry, PathQuery, WriteQuery},
    image::{BuildImage, BuildNews, Image, Images, PruneImages, Pruned},
    sandbox::{CreateSandbox, ForkSandbox, Sandbox, Sandboxes, Stats},
    server::{Capabilities, Health},
};

#[derive(Debug, Clone)]
pub struct Client {
    endpoint: Endpoint,
    connections: TaskTracker,
}

/// What a sandbox can be told to become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    Freeze,
    Thaw,
    Rest,
    Open,
}

impl Turn {
    const fn word(self) -> &'static str {
        match self {
            Self::Freeze => "freeze",
            Self::Thaw => "thaw",
            Self::Rest => "rest",
            Self::Open => "open",
        }
    }
}

type Answered<T> = Result<T, ClientError>;

impl Client {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, connections: TaskTracker::new() }
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub async fn health(&self) -> Answered<Health> {
        self.get("/health").await
    }

    pub async fn capabilities(&self) -> Answered<Capabilities> {
        self.get("/capabilities").await
    }

    pub async fn create(&self, wish: &CreateSandbox) -> Answered<Sandbox> {
        self.send(Method::POST, "/sandboxes", wish).await?.json().await
    }

    pub async fn sandboxes(&self) -> Answered<Vec<Sandbox>> {
        Ok(self.get::<Sandboxes>("/sandboxes").await?.sandboxes)
    }

    pub async fn sandbox(&self, sandbox: &str) -> Answered<Sandbox> {
        self.get(&of(sandbox, "")).await
    }

    pub async fn turn(&self, sandbox: &str, turn: Turn) -> Answered<Sandbox> {
        let path = of(sandbox, &format!("/{}", turn.word()));
        self.call(Method::POST, &path, Bytes::new()).await?.json().await
    }

    pub async fn fork(&self, sandbox: &str, wish: &ForkSandbox) -> Answered<Sandbox> {
        self.send(Method::POST, &of(sandbox, "/fork"), wish).await?.json().await
    }

    pub async fn stats(&self, sandbox: &str) -> Answered<Stats> {
        self.get(&of(sandbox, "/stats")).await
    }

    /// Which rule decides about a request, and why.
    pub async fn explain_egress(
        &self,
        sandbox: &str,
        wish: &ExplainEgress,
    ) -> Answered<ExplainedEgress> {
        self.send(Method::POST, &of(sandbox, "/egress/explain"), wish).await?.json().await
    }

    /// The smallest policy for what a sandbox did and tried.
    pub async fn learned_egress(&self, sandbox: &str) -> Answered<LearnedEgress> {
        self.get(&of(sandbox, "/egress/learned")).await
    }

    /// What a sandbox did and tried. An id is known also when its sandbox is gone.
    pub async fn egress_log(&self, sandbox: &str, query: &EgressLogQuery) -> Answered<EgressLog> {
        let most = query.most.map(|most| format!("&most={most}")).unwrap_or_default();
        let path = format!("/egress/log?refused={}{most}", query.refused);
        self.get(&of(sandbox, &path)).await
    }

    /// Has the server read its files again.
    pub async fn reload_policy(&self) -> Answered<ReloadedPolicy> {
        self.call(Method::POST, "/policy/reload", Bytes::new()).await?.json().await
    }

    /// Also succeeds when an id is already gone.
    pub async fn delete(&self, sandbox: &str) -> Answered<()> {
        self.call(Method::DELETE, &of(sandbox, ""), Bytes::new()).await?.nothing().await
    }

    /// Starts a command. The two halves are what is said to it, and what is heard from it.
    pub async fn exec(
        &self,
        sandbox: &str,
        start: &StartExec,
    ) -> Answered<(ExecTalking, ExecHearing)> {
        exec::start(&self.endpoint, &of(sandbox, "/exec"), start).await
    }

    /// The programs that the server can work with.
    pub async fn agents(&self) -> Answered<Agents> {
        self.get("/agents").await
    }

    /// The same, with the agents that a repository defines itself.
    pub async fn agents_in(&self, query: &AgentsQuery) -> Answered<Agents> {
        let named = query.repository.as_deref().unwrap_or_default();
        self.get(&format!("/agents?repository={}", escaped(named))).await
    }

    /// Which of them a sandbox has.
    pub async fn agents_inside(&self, sandbox: &str) -> Answered<AgentsInside> {
        self.get(&of(sandbox, "/agents")).await
    }

    /// Has an agent work. The two halves are what is said to it, and what is heard from it.
    pub async fn agent(
        &self,
        sandbox: &str,
        start: &StartAgent,
    ) -> Answered<(AgentTalking, AgentHearing)> {
        agent::start(&self.endpoint, &of(sandbox, "/agent"), start).await
    }

    pub async fn entry(&self, sandbox: &str, query: &PathQuery) -> Answered<Entry> {
        self.get(&of(sandbox, &format!("/entry?{}", encoded(query)))).await
    }

    pub async fn entries(&self, sandbox: &str, query: &PathQuery) -> Answered<Vec<Entry>> {
        let path = of(sandbox, &format!("/entries?{}", encoded(query)));
        Ok(self.get::<Entries>(&path).await?.entries)
    }

    pub async fn read(
        &self,
        sandbox: &str,
        query: &PathQuery,
    ) -> Answered<impl Stream<Item = Answered<Bytes>> + use<>> {
        let path = of(sandbox, &format!("/files?{}", encoded(query)));
        Ok(self.call(Method::GET, &path, Bytes::new()).await?.bytes())
    }

    pub async fn write(
        &self,
        sandbox: &str,
        query: &WriteQuery,
        content: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    ) -> Answered<()> {
        let mode = query.mode.as_ref().map(|mode| format!("&mode={}", escaped(mode)));
        let path = PathQuery { path: query.path.clone(), user: query.user };
        let path = format!("/files?{}{}", encoded(&path), mode.unwrap_or_default());
        self.upload(&of(sandbox, &path), content).await
    }

    pub async fn tar_out(
        &self,
        sandbox: &str,
        query: &PathQuery,
    ) -> Answered<impl Stream<Item = Answered<Bytes>> + use<>> {
        let path = of(sandbox, &format!("/tar?{}", encoded(query)));
        Ok(self.call(Method::GET, &path, Bytes::new()).await?.bytes())
    }

    pub async fn tar_in(
        &self,
        sandbox: &str,
        query: &PathQuery,
        archive: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    ) -> Answered<()> {
        self.upload(&of(sandbox, &format!("/tar?{}", encoded(query))), archive).await
    }

    pub async fn build(
        &self,
        wish: &BuildImage,
    ) -> Answered<impl Stream<Item = Answered<BuildNews>> + use<>> {
        let answer = self.send(Method::POST, "/images", wish).await?;
        Ok(lines::parsed(answer.bytes()))
    }

    pub async fn images(&self) -> Answered<Vec<Image>> {
        Ok(self.get::<Images>("/images").await?.images)
    }

    pub async fn image(&self, key: &str) -> Answered<Image> {
        self.get(&format!("/images/{}", escaped(key))).await
    }

    pub async fn prune(&self, wish: &PruneImages) -> Answered<Pruned> {
        self.send(Method::POST, "/images/prune", wish).await?.json().await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Answered<T> {
        self.call(Method::GET, path, Bytes::new()).await?.json().await
    }

    async fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Answered<Answer> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::strange(&error))?;
        self.call(method, path, body.into()).await
    }

    async fn call(&self, method: Method, path: &str, body: Bytes) -> Answered<Answer> {
        connection::call(self, method, path, http_body_util::Full::new(body), &[]).await
    }

    /// The same with more headers.
    async fn send_with(
        &self,
        path: &str,
        body: &impl Serialize,
        headers: &[(&'static str, &str)],
    ) -> Answered<Answer> {
        let body = serde_json::to_vec(body).map_err(|error| ClientError::strange(&error))?;
        let body = http_body_util::Full::new(Bytes::from(body));
        connection::call(self, Method::POST, path, body, headers).await
    }

    async fn upload(
        &self,
        path: &str,
        content: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    ) -> Answered<()> {
        use futures::StreamExt as _;
        let frames = content.map(|chunk| chunk.map(hyper::body::Frame::data));
        let body = http_body_util::StreamBody::new(Box::pin(frames));
        connection::call(self, Method::PUT, path, body, &[]).await?.nothing().await
    }
}

/// The address of a sandbox, and something of it.
fn of(sandbox: &str, rest: &str) -> String {
    format!("/sandboxes/{}{rest}", escaped(sandbox))
}

fn encoded(query: &PathQuery) -> String {
    let user = match query.user {
        crate::exec::User::Agent => "agent",
        crate::exec::User::Root => "root",
    };
    format!("path={}&user={user}", escaped(&query.path))
}

/// Everything but plain letters and digits as `%XX`, so that no name can change the address.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            other => {
                use std::fmt::Write as _;
                // Writing to a string does not fail.
                let _written = write!(escaped, "%{other:02X}");
            }
        }
    }
    escaped
}

/// Whether an answer is a success.
fn is_fine(status: StatusCode) -> bool {
    status.is_success() || status == StatusCode::SWITCHING_PROTOCOLS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_changes_the_address() {
        assert_eq!(of("../../images", "/stats"), "/sandboxes/%2E%2E%2F%2E%2E%2Fimages/stats");
        let query =
            PathQuery { path: "/a b&user=root#".to_owned(), user: crate::exec::User::Agent };
        assert_eq!(encoded(&query), "path=%2Fa%20b%26user%3Droot%23&user=agent");
    }
}
