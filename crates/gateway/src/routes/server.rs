//! What this server is and can do.

use axum::{Json, extract::State};
use contracts::sandbox::Sandboxes;
use wire::server::{Capabilities, Health};

use crate::{convert, door::Door};

/// Whether a server is there. Needs no token.
#[utoipa::path(get, path = "/v1/health", tag = "server", responses((status = 200, body = Health)))]
pub(crate) async fn health<S: Sandboxes>(State(door): State<Door<S>>) -> Json<Health> {
    Json(Health { status: "ok".to_owned(), version: door.version })
}

/// Which tiers of isolation this host gives, and why not the others
#[utoipa::path(
    get,
    path = "/v1/capabilities",
    tag = "server",
    responses((status = 200, body = Capabilities))
)]
pub(crate) async fn capabilities<S: Sandboxes>(State(door): State<Door<S>>) -> Json<Capabilities> {
    Json(convert::capabilities(door.sandboxes.capabilities()))
}
