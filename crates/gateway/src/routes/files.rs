//! Files inside: bytes stream through, and are never gathered here.

use std::io;

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::StatusCode,
};
use bytes::Bytes;
use contracts::sandbox::{FileAsk, Input, Output, SandboxError, Sandboxes, Streams, Transfer};
use domain::id::SandboxId;
use futures::{Stream, StreamExt as _, stream};
use tokio::sync::mpsc;
use wire::{
    error::{Code, Problem, Refusal},
    files::{Entries, Entry, PathQuery, WriteQuery},
};

use crate::{
    convert,
    door::Door,
    driven::{News, driven},
    extract::{Words, bad, inside},
    problem::{Answer, Trouble, done, failed_path},
};

/// How much of an upload is read and dropped after it was refused, so that the caller hears the refusal.
const DRAIN: usize = 64 << 20;

/// What a path leads to; a link is not followed
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/entry",
    tag = "files",
    params(("sandbox" = String, Path, description = "An id or a name"), PathQuery),
    responses((status = 200, body = Entry), (status = "4XX", body = Refusal))
)]
pub(crate) async fn entry<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    Words(query): Words<PathQuery>,
) -> Answer<Json<Entry>> {
    let ask = FileAsk::Stat { path: inside(&query.path)?, user: convert::user(query.user) };
    let told = told_entries(&door, &sandbox, &ask).await?;
    let first = told.into_iter().next();
    first.map(Json).ok_or_else(|| failed_path(&query.path, "nothing was told about it"))
}

/// What is in a directory
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/entries",
    tag = "files",
    params(("sandbox" = String, Path, description = "An id or a name"), PathQuery),
    responses((status = 200, body = Entries), (status = "4XX", body = Refusal))
)]
pub(crate) async fn entries<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    Words(query): Words<PathQuery>,
) -> Answer<Json<Entries>> {
    let ask = FileAsk::List { path: inside(&query.path)?, user: convert::user(query.user) };
    Ok(Json(Entries { entries: told_entries(&door, &sandbox, &ask).await? }))
}

/// The content of a file
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/files",
    tag = "files",
    params(("sandbox" = String, Path, description = "An id or a name"), PathQuery),
    responses(
        (status = 200, content_type = "application/octet-stream", description = "The bytes"),
        (status = "4XX", body = Refusal)
    )
)]
pub(crate) async fn read<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    Words(query): Words<PathQuery>,
) -> Answer<([(&'static str, &'static str); 1], Body)> {
    let ask = FileAsk::Read { path: inside(&query.path)?, user: convert::user(query.user) };
    let id = door.find(&sandbox).await?.id;
    Ok(([("content-type", "application/octet-stream")], download(&door, id, ask).await?))
}

/// Makes or replaces a file, at once when the whole body has arrived
#[utoipa::path(
    put,
    path = "/v1/sandboxes/{sandbox}/files",
    tag = "files",
    params(("sandbox" = String, Path, description = "An id or a name"), WriteQuery),
    request_body(content_type = "application/octet-stream", description = "The bytes"),
    responses((status = 204), (status = "4XX", body = Refusal))
)]
pub(crate) async fn write<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    Words(query): Words<WriteQuery>,
    body: Body,
) -> Answer<StatusCode> {
    let mode = u32::from_str_radix(query.mode.as_deref().unwrap_or("644"), 8);
    let mode = mode.ok().filter(|mode| *mode <= 0o777);
    let mode = mode.ok_or_else(|| bad("the mode is up to three octal digits, such as `644`"))?;
    let user = convert::user(query.user);
    let ask = FileAsk::Write { path: inside(&query.path)?, user, mode };
    let id = door.find(&sandbox).await?.id;
    upload(&door, id, ask, body).await
}

/// A tar archive of a path
#[utoipa::path(
    get,
    path = "/v1/sandboxes/{sandbox}/tar",
    tag = "files",
    params(("sandbox" = String, Path, description = "An id or a name"), PathQuery),
    responses(
        (status = 200, content_type = "application/x-tar", description = "The archive, made inside: trust nothing in it"),
        (status = "4XX", body = Refusal)
    )
)]
pub(crate) async fn tar_out<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    Words(query): Words<PathQuery>,
) -> Answer<([(&'static str, &'static str); 1], Body)> {
    let ask = FileAsk::TarOut { path: inside(&query.path)?, user: convert::user(query.user) };
    let id = door.find(&sandbox).await?.id;
    Ok(([("content-type", "application/x-tar")], download(&door, id, ask).await?))
}

/// Unpacks a tar archive below a path
#[utoipa::path(
    put,
    path = "/v1/sandboxes/{sandbox}/tar",
    tag = "files",
    params(("sandbox" = String, Path, description = "An id or a name"), PathQuery),
    request_body(content_type = "application/x-tar", description = "The archive"),
    responses((status = 204), (status = "4XX", body = Refusal))
)]
pub(crate) async fn tar_in<S: Sandboxes>(
    State(door): State<Door<S>>,
    Path(sandbox): Path<String>,
    Words(query): Words<PathQuery>,
    body: Body,
) -> Answer<StatusCode> {
    let ask = FileAsk::TarIn { path: inside(&query.path)?, user: convert::user(query.user) };
    let id = door.find(&sandbox).await?.id;
    upload(&door, id, ask, body).await
}

async fn told_entries<S: Sandboxes>(
    door: &Door<S>,
    sandbox: &str,
    ask: &FileAsk,
) -> Answer<Vec<Entry>> {
    let id = door.find(sandbox).await?.id;
    let (no_input, input) = mpsc::channel(1);
    drop(no_input);
    let (output, mut said) = mpsc::channel(1);
    let asking = door.sandboxes.file(id, ask, Streams { input, output });
    let ignoring = async { while said.recv().await.is_some() {} };
    let (told, ()) = tokio::join!(asking, ignoring);
    match told? {
        Transfer::Entries(entries) => Ok(entries.into_iter().map(convert::entry).collect()),
        Transfer::Failed { path, reason } => Err(failed_path(&path, &reason)),
        Transfer::Done => Ok(Vec::new()),
    }
}

type Moved = News<Output, Result<Transfer, SandboxError>>;

/// The bytes of a file. What fails before the first of them is told as a refusal; later the answer breaks off.
async fn download<S: Sandboxes>(door: &Door<S>, id: SandboxId, ask: FileAsk) -> Answer<Body> {
    let (no_input, input) = mpsc::channel(1);
    drop(no_input);
    let (output, said) = mpsc::channel(16);
    let sandboxes = door.sandboxes.clone();
    let moving = Box::pin(async move { sandboxes.file(id, &ask, Streams { input, output }).await });
    let mut news = Box::pin(driven(moving, said));
    let mut next = news.next().await;
    // What is complained about is no byte of the file.
    while let Some(News::Item(Output::Error(_))) = next {
        next = news.next().await;
    }
    match next {
        Some(News::Item(first)) => {
            let rest = stream::once(async { News::Item(first) }).chain(news);
            Ok(Body::from_stream(bytes_of(rest)))
        }
        Some(News::End(ended)) => {
            done(ended?)?;
            Ok(Body::empty())
        }
        None => Ok(Body::empty()),
    }
}

fn bytes_of(
    news: impl Stream<Item = Moved> + Send + 'static,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    news.filter_map(async |moved| match moved {
        News::Item(Output::Out(bytes)) => Some(Ok(Bytes::from(bytes))),
        News::Item(Output::Error(_)) | News::End(Ok(Transfer::Done | Transfer::Entries(_))) => None,
        News::End(Ok(Transfer::Failed { reason, .. })) => Some(Err(io::Error::other(reason))),
        News::End(Err(error)) => Some(Err(io::Error::other(error.to_string()))),
    })
}

/// Sends the body in. A body that breaks off leaves everything as it was: its end is never told as the end.
async fn upload<S: Sandboxes>(
    door: &Door<S>,
    id: SandboxId,
    ask: FileAsk,
    body: Body,
) -> Answer<StatusCode> {
    let (to_file, input) = mpsc::channel(16);
    let (output, mut said) = mpsc::channel(1);
    let mut chunks = body.into_data_stream();
    let transfer = {
        let moving = door.sandboxes.file(id, &ask, Streams { input, output });
        let ignoring = async { while said.recv().await.is_some() {} };
        let moving = async { tokio::join!(moving, ignoring).0 };
        tokio::pin!(moving);
        let feeding = async {
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk.map_err(|error| broke_off(&error))?;
                if to_file.send(Input::Bytes(chunk.to_vec())).await.is_err() {
                    break;
                }
            }
            Ok::<(), Trouble>(())
        };
        tokio::select! {
            ended = &mut moving => ended,
            fed = feeding => {
                fed?;
                drop(to_file);
                moving.await
            }
        }
    };
    let mut drained = 0;
    while drained < DRAIN
        && let Some(Ok(chunk)) = chunks.next().await
    {
        drained += chunk.len();
    }
    done(transfer?)?;
    Ok(StatusCode::NO_CONTENT)
}

fn broke_off(error: &axum::Error) -> Trouble {
    Problem::new(Code::BadRequest, format!("the request broke off: {error}")).into()
}
