//! Every route of the API, with the document that lists them.

use axum::{Json, Router, routing::get};
use contracts::sandbox::Sandboxes;

use crate::{door::Door, openapi, routes};

/// Every route, without a word about who may come in.
pub fn router<S: Sandboxes>(door: Door<S>) -> Router {
    routes::router(get(document), door)
}

/// This document
async fn document() -> Json<utoipa::openapi::OpenApi> {
    Json(openapi::document())
}
