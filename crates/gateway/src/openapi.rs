//! The document of the API, made from the routes and the shapes, and checked in as `docs/reference/openapi.json`.

use utoipa::OpenApi;

use crate::routes::{agents, egress, exec, files, images, life, sandboxes, secrets, server};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Lamplighter",
        description = "The API of one lamp server: sandboxes and images. Served on a unix socket without a token, and on the loopback with one (`Authorization: Bearer`)."
    ),
    paths(
        server::health,
        server::capabilities,
        sandboxes::list,
        sandboxes::create,
        sandboxes::one,
        sandboxes::delete,
        sandboxes::stats,
        life::freeze,
        life::thaw,
        life::rest,
        life::open,
        life::fork,
        egress::explain,
        egress::learned,
        egress::log,
        egress::reload,
        exec::exec,
        agents::list,
        agents::inside,
        agents::work,
        files::entry,
        files::entries,
        files::read,
        files::write,
        files::tar_out,
        files::tar_in,
        images::list,
        images::build,
        images::one,
        images::prune,
        secrets::list,
        secrets::one,
        secrets::set,
        secrets::delete,
        secrets::rotate_key
    ),
    components(schemas(
        wire::exec::StartExec,
        wire::exec::ClientSays,
        wire::agent::StartAgent,
        wire::agent::AgentHears
    ))
)]
struct Document;

pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi()
}
