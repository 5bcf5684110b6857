//! What a sandbox may reach: explained, and learned from what it did.

use axum::{
    Json,
    extract::{Path, State},
};
use contracts::sandbox::Sandboxes;
use wire::{
    egress::{ExplainEgress, ExplainedEgress, LearnedEgress},
    error::Refusal,
};

use crate::{door::Door, extract::Asked, problem::Answer};

/// Says which rule decides about a request, and why
#[utoipa::path(
    post,
    path = "/v1/sandboxes/{sandbox}/egress/explain",
    tag = "egress",
    params(("sandbox" = String, Path, description = "An id or a name")),
    request_body = ExplainEgress,
    responses((status = 200, body = ExplainedEgress), (status = "4XX", body = Refusal))
)]
pub(crate) async fn explain<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    Asked(wish): Asked<ExplainEgress>,
) -> Answer<Json<ExplainedEgress>> {
    let id = door.find(&sandbox).await?.id;
    Ok(Json(door.networks.explain(id, &wish)?))
}

/// Proposes the smallest policy for what the sandbox did and tried
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/egress/learned",
    tag = "egress",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses((status = 200, body = LearnedEgress), (status = "4XX", body = Refusal))
)]
pub(crate) async fn learned<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
) -> Answer<Json<LearnedEgress>> {
    let id = door.find(&sandbox).await?.id;
    Ok(Json(door.networks.learned(id)?))
}
