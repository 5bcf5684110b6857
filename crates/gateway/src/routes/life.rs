//! Freeze, thaw, rest, open, fork.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use contracts::sandbox::{Listed, Owner, SandboxError, Sandboxes, Spec, Use};
use wire::{
    error::{Code, Problem, Refusal},
    sandbox::{ForkSandbox, Sandbox},
};

use super::sandboxes::parse_name;
use crate::{
    convert,
    door::Door,
    extract::{Asked, bad},
    problem::Answer,
};

/// Stops the clock of everything inside; memory is kept
#[utoipa::path(
    post,
    path = "/v1/sandboxes/{sandbox}/freeze",
    tag = "sandboxes",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses((status = 200, body = Sandbox), (status = "4XX", body = Refusal))
)]
pub(crate) async fn freeze<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
) -> Answer<Json<Sandbox>> {
    let id = door.find(&sandbox).await?.id;
    door.sandboxes.freeze(id).await?;
    now(&door, &sandbox).await
}

/// Lets a frozen sandbox go on
#[utoipa::path(
    post,
    path = "/v1/sandboxes/{sandbox}/thaw",
    tag = "sandboxes",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses((status = 200, body = Sandbox), (status = "4XX", body = Refusal))
)]
pub(crate) async fn thaw<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
) -> Answer<Json<Sandbox>> {
    let id = door.find(&sandbox).await?.id;
    door.sandboxes.thaw(id).await?;
    now(&door, &sandbox).await
}

/// Stops everything and keeps the disk
#[utoipa::path(
    post,
    path = "/v1/sandboxes/{sandbox}/rest",
    tag = "sandboxes",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses((status = 200, body = Sandbox), (status = "4XX", body = Refusal))
)]
pub(crate) async fn rest<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
) -> Answer<Json<Sandbox>> {
    let id = door.find(&sandbox).await?.id;
    door.sandboxes.rest(id).await?;
    now(&door, &sandbox).await
}

/// Opens one that rests, and thaws one that is frozen
#[utoipa::path(
    post,
    path = "/v1/sandboxes/{sandbox}/open",
    tag = "sandboxes",
    params(("sandbox" = String, Path, description = "An id or a name")),
    responses((status = 200, body = Sandbox), (status = "4XX", body = Refusal))
)]
pub(crate) async fn open<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
) -> Answer<Json<Sandbox>> {
    let found = door.find(&sandbox).await?;
    // What an approver allowed is applied anew at every opening, and only the engine knows it.
    if let Owner::Task(task) = &found.owner {
        let message =
            format!("this sandbox belongs to the task {task}, which opens it when it goes on");
        return Err(Problem::new(Code::BelongsToTask, message).into());
    }
    door.sandboxes.open(&again(found)).await?;
    now(&door, &sandbox).await
}

/// Makes another with a copy of its disk; the original goes on
#[utoipa::path(
    post,
    path = "/v1/sandboxes/{sandbox}/fork",
    tag = "sandboxes",
    params(("sandbox" = String, Path, description = "An id or a name")),
    request_body = ForkSandbox,
    responses((status = 201, body = Sandbox), (status = "4XX", body = Refusal))
)]
pub(crate) async fn fork<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    Asked(wish): Asked<ForkSandbox>,
) -> Answer<(StatusCode, Json<Sandbox>)> {
    let original = door.find(&sandbox).await?;
    let compute = convert::compute(wish.compute, original.compute);
    compute.check().map_err(|reason| SandboxError::Limit { reason })?;
    let from = original.id;
    let spec = Spec {
        id: match &wish.id {
            Some(id) => id.parse().map_err(|error| bad(format!("{error}")))?,
            None => door.new_id(),
        },
        name: parse_name(wish.name.as_deref())?,
        owner: door.owner(),
        purpose: Use::Person,
        compute,
        ..again(original)
    };
    door.sandboxes.fork(from, &spec).await?;
    let made = door.find(&spec.id.to_string()).await?;
    Ok((StatusCode::CREATED, Json(convert::listed(made))))
}

/// The specification of one that exists. Its disk already has what was brought in.
fn again(listed: Listed) -> Spec {
    Spec {
        id: listed.id,
        name: listed.name,
        owner: listed.owner,
        purpose: listed.purpose,
        image: listed.image,
        tier: listed.tier,
        compute: listed.compute,
        sources: Vec::new(),
        hooks: contracts::sandbox::Hooks::default(),
        workspace: listed.workspace,
        conditions: None,
        network: None,
    }
}

async fn now<S: Sandboxes>(door: &Door<S>, sandbox: &str) -> Answer<Json<Sandbox>> {
    Ok(Json(convert::listed(door.find(sandbox).await?)))
}
