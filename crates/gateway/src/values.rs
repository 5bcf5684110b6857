//! Values of secrets, taken out of every refusal.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    extract::State,
    http::{Request, Response, header},
    middleware::{self, Next},
};
use wire::error::Problem;

use crate::sockets::Values;

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
