//! What a sandbox may reach: explained, learned from what it did, and changed; and what it did.

use axum::{
    Json,
    extract::{Path, State},
};
use contracts::{egress::LogWish, sandbox::Sandboxes};
use wire::{
    egress::{
        EgressLog, EgressLogQuery, ExplainEgress, ExplainedEgress, LOG_LIMIT, LearnedEgress,
        ReloadedPolicy,
    },
    error::Refusal,
};

use crate::{
    door::{Called, Door},
    egress_shapes,
    extract::{Asked, Words, bad},
    problem::Answer,
};

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
    door.networks.settled().await;
    let explained = door.networks.explain(id, &wish.method, &wish.url)?;
    Ok(Json(egress_shapes::explained(&explained)))
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
    door.networks.settled().await;
    Ok(Json(egress_shapes::learned(door.networks.learned(id)?)))
}

/// What the sandbox did and tried, the newest at the end
///
/// An id is known also when its sandbox is gone.
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/egress/log",
    tag = "egress",
    params(
        ("sandbox" = String, Path, description = "An id or a name"),
        ("refused" = Option<bool>, Query, description = "Only what was refused"),
        ("most" = Option<u32>, Query, description = "The most records; 200 when it is left out", minimum = 1, maximum = 2_000)
    ),
    responses((status = 200, body = EgressLog), (status = "4XX", body = Refusal))
)]
pub(crate) async fn log<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    Words(query): Words<EgressLogQuery>,
) -> Answer<Json<EgressLog>> {
    if query.most.is_some_and(|most| most == 0 || most > LOG_LIMIT) {
        return Err(bad(format!("`most` is from 1 to {LOG_LIMIT}")));
    }
    let id = match Called::parse(&sandbox)? {
        Called::Id(id) => id,
        Called::Name(_) => door.find(&sandbox).await?.id,
    };
    let wish = LogWish { only_refused: query.refused, most: query.most };
    let exchanges = door.networks.log(id, wish).await?;
    Ok(Json(egress_shapes::log(exchanges)))
}

/// Reads the server's files again, and says what changed
///
/// What is wrong in them changes nothing, and is said.
#[utoipa::path(
    post,
    path = "/v1/policy/reload",
    tag = "egress",
    responses((status = 200, body = ReloadedPolicy), (status = "4XX", body = Refusal))
)]
pub(crate) async fn reload<S: Sandboxes>(
    State(door): State<Door<S>>,
) -> Answer<Json<ReloadedPolicy>> {
    Ok(Json(egress_shapes::reloaded(door.networks.reload().await?)))
}
