//! The document of the API, made from the routes and the shapes, and checked in as `docs/reference/openapi.json`.

use utoipa::OpenApi;

use crate::{
    openapi_refined::refine,
    routes::{
        agents, egress, exec, files, images, life, pulls, sandboxes, secrets, server,
        tasks::{ask, back, begin, look, made, pick, records, stream},
        totals,
    },
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Lamplighter",
        description = "The API of one lamp server: tasks and their pull requests, sandboxes, images and agents. Served on a unix socket without a token, and on the loopback with one (`Authorization: Bearer`). Every refusal is `application/problem+json`.",
        contact(name = "The maintainers of Lamplighter")
    ),
    paths(
        begin::begin,
        look::list,
        look::one,
        look::inbox,
        look::queue,
        records::events,
        records::transcript,
        records::context,
        records::usage,
        records::plan,
        stream::stream,
        ask::approve,
        ask::reject,
        ask::answer,
        ask::message,
        ask::pause,
        ask::resume,
        ask::cancel,
        ask::retry,
        ask::amend,
        ask::budget,
        pick::pick,
        ask::dismiss,
        back::revert,
        made::diff,
        made::checks,
        made::review,
        made::receipt,
        totals::usage,
        totals::why,
        totals::repositories,
        pulls::list,
        pulls::one,
        pulls::diff,
        pulls::comment,
        pulls::review,
        pulls::check,
        pulls::merge,
        pulls::close,
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
    let mut document = Document::openapi();
    refine(&mut document);
    document
}
