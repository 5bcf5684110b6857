//! Values of secrets: taken out of what is passed on, and given to one process where that is wanted.

use std::{borrow::Cow, fmt};

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::State,
    http::{Request, Response, header},
    middleware::{self, Next},
};
use contracts::sandbox::Listed;
use futures::future::BoxFuture;
use std::sync::Arc;
use wire::{
    error::{Code, Problem},
    exec::ExposeSecrets,
};

/// Keeps values of secrets where they belong.
pub trait Values: Send + Sync + 'static {
    /// For the output of one command. `None` when there is no value to take out, so that nothing is done to it.
    fn stream(&self) -> Result<Option<Box<dyn Cleaned>>, Problem>;

    /// A whole text, without values.
    fn text<'t>(&self, text: &'t str) -> Cow<'t, str>;

    /// The variables that one process of `sandbox` gets. That it gets them is written down before.
    fn expose<'a>(
        &'a self,
        wish: &'a ExposeSecrets,
        sandbox: &'a Listed,
        program: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, Problem>>;
}

/// Takes values out of bytes that come in pieces.
pub trait Cleaned: Send {
    /// Takes a piece, and gives what is certain.
    fn feed(&mut self, piece: &[u8]) -> Vec<u8>;
    /// Whether something is held back that may be the beginning of a value.
    fn is_holding(&self) -> bool;
    /// Nothing has come for a while: gives a beginning that is too short to tell anything.
    fn release(&mut self) -> Vec<u8>;
    /// The rest.
    fn finish(&mut self) -> Vec<u8>;
}

impl fmt::Debug for dyn Cleaned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cleaned").field("is_holding", &self.is_holding()).finish()
    }
}

/// For a server without secrets.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoValues;

impl Values for NoValues {
    fn stream(&self) -> Result<Option<Box<dyn Cleaned>>, Problem> {
        Ok(None)
    }

    fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }

    fn expose<'a>(
        &'a self,
        _wish: &'a ExposeSecrets,
        _sandbox: &'a Listed,
        _program: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, Problem>> {
        Box::pin(async { Err(Problem::new(Code::Unsupported, "this server keeps no secrets")) })
    }
}

/// The same problem, without values.
pub(crate) fn cleaned(values: &dyn Values, problem: Problem) -> Problem {
    let clean = |text: String| values.text(&text).into_owned();
    Problem {
        code: problem.code,
        message: clean(problem.message),
        help: problem.help.map(clean),
        log: problem.log.map(clean),
    }
}

/// Refusals have a sentence and the end of a log, and are never longer.
const LONGEST_REFUSAL: usize = 1 << 20;

/// Takes values out of every refusal that a router gives.
pub fn without_values(router: Router, values: Arc<dyn Values>) -> Router {
    router.layer(middleware::from_fn_with_state(values, clean_refusal))
}

async fn clean_refusal(
    State(values): State<Arc<dyn Values>>,
    request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let response = next.run(request).await;
    if !response.status().is_client_error() && !response.status().is_server_error() {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, LONGEST_REFUSAL).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let clean = values.text(&text).into_owned();
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(clean))
}
