//! Sandboxes that are made, listed, measured and removed.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use contracts::sandbox::{Compute, SandboxError, Sandboxes, Spec, Use};
use wire::{
    error::{Code, Problem, Refusal},
    sandbox::{CreateSandbox, Sandbox, Sandboxes as All, Stats},
};

use crate::{
    convert,
    door::{Called, Door, not_found},
    extract::{Asked, bad},
    problem::Answer,
};

/// What a sandbox is made of when nobody says.
const USUAL_IMAGE: &str = "host";

/// Makes a sandbox, and returns when it is ready for commands
#[utoipa::path(
    post,
    path = "/v1/sandboxes",
    tag = "sandboxes",
    request_body = CreateSandbox,
    responses((status = 201, body = Sandbox), (status = "4XX", body = Refusal), (status = "5XX", body = Refusal))
)]
pub(crate) async fn create<S: Sandboxes>(
    State(door): State<Door<S>>,
    Asked(wish): Asked<CreateSandbox>,
) -> Answer<(StatusCode, Json<Sandbox>)> {
    let compute = convert::compute(wish.compute, Compute::default());
    // Before anything is fetched for it.
    compute.check().map_err(|reason| SandboxError::Limit { reason })?;
    let wished = wish.network;
    let wished = wished.map(convert::network_wish).transpose()?;
    let network = wished.map(|wish| door.networks.network(&wish, &door.owner())).transpose()?;
    let spec = Spec {
        id: match &wish.id {
            Some(id) => id.parse().map_err(|error| bad(format!("{error}")))?,
            None => door.new_id(),
        },
        name: parse_name(wish.name.as_deref())?,
        owner: door.owner(),
        purpose: Use::Person,
        image: wish.image.unwrap_or_else(|| USUAL_IMAGE.to_owned()),
        tier: convert::tier(wish.tier),
        compute,
        sources: door.sources.resolve(&convert::sources(wish.repositories)?).await?,
        hooks: convert::hooks(wish.hooks),
        workspace: convert::workspace(wish.read_only),
        conditions: None,
        network,
    };
    door.sandboxes.open(&spec).await?;
    let made = door.find(&spec.id.to_string()).await?;
    Ok((StatusCode::CREATED, Json(convert::listed(made))))
}

pub(super) fn parse_name(name: Option<&str>) -> Answer<Option<contracts::sandbox::SandboxName>> {
    let parsed = name.map(str::parse).transpose();
    parsed.map_err(|error: contracts::sandbox::SandboxNameError| {
        Problem::new(Code::BadRequest, error.to_string())
            .with_help("`blue-fox-2` would be a name")
            .into()
    })
}

/// The sandboxes that exist
#[utoipa::path(
    get,
    path = "/v1/sandboxes",
    tag = "sandboxes",
    responses((status = 200, body = All), (status = "5XX", body = Refusal))
)]
pub(crate) async fn list<S: Sandboxes>(State(door): State<Door<S>>) -> Answer<Json<All>> {
    let listed = door.sandboxes.list().await?;
    Ok(Json(All { sandboxes: listed.into_iter().map(convert::listed).collect() }))
}

/// One, by its id or name
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}",
    tag = "sandboxes",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses((status = 200, body = Sandbox), (status = "4XX", body = Refusal))
)]
pub(crate) async fn one<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
) -> Answer<Json<Sandbox>> {
    Ok(Json(convert::listed(door.find(&sandbox).await?)))
}

/// Removes it, with all that is in it
///
/// An id that is already gone is removed once more, so that a call can be repeated; a name that is gone is not found.
#[utoipa::path(
    delete,
    path = "/v1/sandboxes/{sandbox}",
    tag = "sandboxes",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses((status = 204), (status = "4XX", body = Refusal))
)]
pub(crate) async fn delete<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
) -> Answer<StatusCode> {
    let id = match Called::parse(&sandbox)? {
        Called::Id(id) => id,
        Called::Name(_) => door.find(&sandbox).await?.id,
    };
    match door.sandboxes.destroy(id).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(SandboxError::NotFound { .. }) => Err(not_found(&sandbox)),
        Err(error) => Err(error.into()),
    }
}

/// What it uses now, and has used so far
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/stats",
    tag = "sandboxes",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses((status = 200, body = Stats), (status = "4XX", body = Refusal))
)]
pub(crate) async fn stats<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
) -> Answer<Json<Stats>> {
    let id = door.find(&sandbox).await?.id;
    Ok(Json(convert::stats(door.sandboxes.stats(id).await?)))
}
