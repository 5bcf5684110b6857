//! The table of what can be asked.

pub(crate) mod agents;
pub(crate) mod egress;
pub(crate) mod exec;
pub(crate) mod files;
pub(crate) mod images;
pub(crate) mod life;
pub(crate) mod named;
pub(crate) mod pulls;
pub(crate) mod sandboxes;
pub(crate) mod secrets;
pub(crate) mod server;
pub(crate) mod tasks;
pub(crate) mod totals;

use axum::{
    Router,
    routing::{MethodRouter, get, post, put},
};
use contracts::sandbox::Sandboxes;
use wire::error::{Code, Problem};

use crate::{door::Door, problem::Trouble};

/// Every route, without a word about who may come in. `document` answers with what all of them are.
pub(crate) fn router<S: Sandboxes>(document: MethodRouter<Door<S>>, door: Door<S>) -> Router {
    Router::new()
        .route("/v1/health", get(server::health::<S>))
        .route("/v1/capabilities", get(server::capabilities::<S>))
        .route("/v1/openapi.json", document)
        .route("/v1/sandboxes", get(sandboxes::list::<S>).post(sandboxes::create::<S>))
        .route("/v1/sandboxes/{sandbox}", get(sandboxes::one::<S>).delete(sandboxes::delete::<S>))
        .route("/v1/sandboxes/{sandbox}/stats", get(sandboxes::stats::<S>))
        .route("/v1/sandboxes/{sandbox}/freeze", post(life::freeze::<S>))
        .route("/v1/sandboxes/{sandbox}/thaw", post(life::thaw::<S>))
        .route("/v1/sandboxes/{sandbox}/rest", post(life::rest::<S>))
        .route("/v1/sandboxes/{sandbox}/open", post(life::open::<S>))
        .route("/v1/sandboxes/{sandbox}/fork", post(life::fork::<S>))
        .route("/v1/sandboxes/{sandbox}/egress/explain", post(egress::explain::<S>))
        .route("/v1/sandboxes/{sandbox}/egress/learned", get(egress::learned::<S>))
        .route("/v1/sandboxes/{sandbox}/egress/log", get(egress::log::<S>))
        .route("/v1/policy/reload", post(egress::reload::<S>))
        .route("/v1/sandboxes/{sandbox}/exec", get(exec::exec::<S>))
        .route("/v1/agents", get(agents::list::<S>))
        .route("/v1/sandboxes/{sandbox}/agents", get(agents::inside::<S>))
        .route("/v1/sandboxes/{sandbox}/agent", get(agents::work::<S>))
        .route("/v1/sandboxes/{sandbox}/entry", get(files::entry::<S>))
        .route("/v1/sandboxes/{sandbox}/entries", get(files::entries::<S>))
        .route("/v1/sandboxes/{sandbox}/files", get(files::read::<S>).put(files::write::<S>))
        .route(
            "/v1/sandboxes/{sandbox}/tar",
            get(files::tar_out::<S>).merge(put(files::tar_in::<S>)),
        )
        .route("/v1/images", get(images::list::<S>).post(images::build::<S>))
        .route("/v1/images/prune", post(images::prune::<S>))
        .route("/v1/images/{key}", get(images::one::<S>))
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_so)
        .with_state(door)
}

async fn nothing_here() -> Trouble {
    let problem = Problem::new(Code::NotFound, "there is nothing at this address");
    problem.with_help("`/v1/openapi.json` lists what there is").into()
}

async fn not_so() -> Trouble {
    let problem = Problem::new(Code::MethodNotAllowed, "this address does not take that method");
    problem.with_help("`/v1/openapi.json` lists what there is").into()
}
