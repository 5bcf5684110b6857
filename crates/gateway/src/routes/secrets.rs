//! Secrets: set, described and deleted. No route gives a value back.

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use contracts::secret::SecretName;
use wire::{
    error::{Code, Problem, Refusal},
    secret::{RotatedKey, Secret, Secrets, SetSecret},
};

use crate::{extract::Asked, problem::Answer, secret_shapes, sockets::SecretShelf};

type Shelf = Arc<dyn SecretShelf>;

/// The routes of secrets, to be merged with the others.
pub fn secrets_router(shelf: Arc<dyn SecretShelf>) -> Router {
    Router::new()
        .route("/v1/secrets", get(list))
        .route("/v1/secrets/{name}", get(one).put(set).delete(delete))
        .route("/v1/master-key/rotate", post(rotate_key))
        .method_not_allowed_fallback(super::not_so)
        .with_state(shelf)
}

/// Sets a secret, or replaces it. Its value is sealed, and nothing gives it back
#[utoipa::path(
    put,
    path = "/v1/secrets/{name}",
    tag = "secrets",
    params(("name" = String, Path, description = "Letters, digits and `_`")),
    request_body = SetSecret,
    responses((status = 200, body = Secret), (status = "4XX", body = Refusal))
)]
pub(crate) async fn set(
    State(shelf): State<Shelf>,
    Path(name): Path<String>,
    Asked(wish): Asked<SetSecret>,
) -> Answer<Json<Secret>> {
    let entry = secret_shapes::entry(named(&name)?, wish)?;
    Ok(Json(secret_shapes::described(shelf.set(entry).await?)))
}

/// All secrets, without their values
#[utoipa::path(
    get,
    path = "/v1/secrets",
    tag = "secrets",
    responses((status = 200, body = Secrets), (status = "5XX", body = Refusal))
)]
pub(crate) async fn list(State(shelf): State<Shelf>) -> Answer<Json<Secrets>> {
    Ok(Json(secret_shapes::kept(shelf.list().await?)))
}

/// What is known of a secret, without its value
#[utoipa::path(
    get,
    path = "/v1/secrets/{name}",
    tag = "secrets",
    params(("name" = String, Path, description = "Its name")),
    responses((status = 200, body = Secret), (status = "4XX", body = Refusal))
)]
pub(crate) async fn one(
    State(shelf): State<Shelf>,
    Path(name): Path<String>,
) -> Answer<Json<Secret>> {
    let name = named(&name)?;
    let found = shelf.list().await?.secrets.into_iter().find(|secret| secret.name == name);
    found.map(|found| Json(secret_shapes::described(found))).ok_or_else(|| {
        Problem::new(Code::NotFound, format!("there is no secret `{name}`"))
            .with_help("`lamp secret list` shows those that exist")
            .into()
    })
}

/// Deletes a secret. Whoever uses it next is refused
#[utoipa::path(
    delete,
    path = "/v1/secrets/{name}",
    tag = "secrets",
    params(("name" = String, Path, description = "Its name")),
    responses((status = 204), (status = "4XX", body = Refusal))
)]
pub(crate) async fn delete(
    State(shelf): State<Shelf>,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    shelf.delete(named(&name)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a new master key, and seals every secret with it
#[utoipa::path(
    post,
    path = "/v1/master-key/rotate",
    tag = "secrets",
    responses((status = 200, body = RotatedKey), (status = "4XX", body = Refusal))
)]
pub(crate) async fn rotate_key(State(shelf): State<Shelf>) -> Answer<Json<RotatedKey>> {
    Ok(Json(secret_shapes::turned(shelf.rotate_key().await?)))
}

/// The name is not repeated when it is wrong: it may be a value in the wrong place.
fn named(text: &str) -> Answer<SecretName> {
    text.parse().map_err(|_| {
        let message = "this is not the name of a secret: 1 to 128 letters, digits or `_`, not beginning with a digit";
        Problem::new(Code::BadRequest, message).into()
    })
}
