//! A task live: as server-sent events, or over a WebSocket.
#![expect(unused_qualifications, reason = "written by the macro of paths")]

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{Message, WebSocket, rejection::WebSocketUpgradeRejection},
    },
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use domain::id::TaskId;
use futures::{SinkExt as _, Stream, StreamExt as _};
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{
    error::{Code, Problem},
    task::stream::{Cursor, StreamItem},
};

use super::TaskPath;
use crate::{
    extract::{Words, bad, web_socket},
    problem::Answer,
    task_door::Behind,
    watch::{Names, watch},
};

/// How long a reader of a WebSocket may take to take one item.
const TAKING: Duration = Duration::from_secs(30);

/// Where to go on.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// The cursor of the last item that was seen; from the first on when it is left out.
    #[param(pattern = r"^(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})$", example = "0.0")]
    after: Option<String>,
}

/// Streams what happens to a task and what its agents say, until it is over
///
/// As server-sent events, each with its cursor as `id`; or, when the call asks for an upgrade, over a WebSocket, each item as a text. Whoever
/// comes back with the last cursor (`Last-Event-ID`, or `after`) gets everything behind it, once.
#[utoipa::path(
    get,
    path = "/v1/tasks/{task}/stream",
    tag = "tasks",
    params(
        TaskPath,
        StreamQuery,
        (
            "Last-Event-ID" = String,
            Header,
            description = "The cursor of the last item that was seen; goes before `after`",
            pattern = r"^(0|[1-9][0-9]{0,18})\.(0|[1-9][0-9]{0,18})$",
            example = "0.0"
        )
    ),
    responses(
        (status = 200, description = "Server-sent events; the data of each is an item", content_type = "text/event-stream", body = StreamItem),
        (status = 101, description = "A WebSocket; each text is an item")
    )
)]
pub(crate) async fn stream(
    State(behind): State<Behind>,
    Path(at): Path<TaskPath>,
    Words(query): Words<StreamQuery>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Answer<Response> {
    let is_socket = headers.contains_key(header::UPGRADE);
    let last = headers.get("last-event-id").filter(|_| !is_socket);
    let last = last.map(|last| last.to_str().unwrap_or_default().to_owned());
    let cursor = cursor(last.or(query.after).as_deref())?;
    let view = behind.find(&at.task).await?;
    not_ahead(&behind, view.task, view.seq, cursor).await?;
    let Ok(place) = Arc::clone(&behind.watchers).try_acquire_owned() else {
        let problem = Problem::new(Code::Busy, "too many are watching tasks");
        return Err(problem.with_help("close other streams, and try again").into());
    };
    let store = Arc::clone(behind.store());
    let naming = behind.clone();
    let names: Names = Arc::new(move |id| naming.person(id));
    let stop = behind.door.closing.stop.clone();
    let items = watch(store, view.task, cursor, names, stop, place);
    if !is_socket {
        return Ok(server_sent(items));
    }
    let talk = behind.door.closing.talks.token();
    Ok(web_socket(upgrade)?.on_upgrade(async move |socket| {
        let _talk = talk;
        tell(socket, items).await;
    }))
}

fn cursor(text: Option<&str>) -> Answer<Cursor> {
    // A reader that has seen nothing sends an empty one.
    match text {
        None | Some("") => Ok(Cursor::default()),
        Some(text) => {
            text.parse().map_err(|error: wire::task::stream::CursorError| bad(error.to_string()))
        }
    }
}

/// A cursor from somewhere else would wait for ever, or leave something out.
async fn not_ahead(behind: &Behind, task: TaskId, events: u64, cursor: Cursor) -> Answer<()> {
    let words = behind.store().transcript_end(task, 1).await?;
    let words = words.last().map_or(0, |last| last.number);
    if cursor.events > events || cursor.transcript > words {
        return Err(bad(format!(
            "the cursor `{cursor}` is ahead of this task, which is at `{events}.{words}`"
        )));
    }
    Ok(())
}

fn server_sent(items: impl Stream<Item = StreamItem> + Send + 'static) -> Response {
    let body = Body::from_stream(items.map(|item| Ok::<Bytes, Infallible>(message(&item))));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn message(item: &StreamItem) -> Bytes {
    format!("id: {}\nevent: {}\ndata: {}\n\n", item.cursor(), item.name(), written(item)).into()
}

/// One line: JSON has no line's end outside of its strings, and none inside.
fn written(item: &StreamItem) -> String {
    // Strings and numbers always can be written.
    serde_json::to_string(item).unwrap_or_default()
}

async fn tell(socket: WebSocket, items: impl Stream<Item = StreamItem>) {
    let (mut sink, mut source) = socket.split();
    let telling = async {
        let mut items = std::pin::pin!(items);
        while let Some(item) = items.next().await {
            let sent = tokio::time::timeout(TAKING, sink.send(Message::text(written(&item)))).await;
            // Whoever does not take it can come back with its last cursor.
            if !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
        drop(tokio::time::timeout(TAKING, sink.close()).await);
    };
    let leaving = async {
        loop {
            match source.next().await {
                None | Some(Err(_) | Ok(Message::Close(_))) => return,
                // A watcher has nothing to say.
                Some(Ok(
                    Message::Text(_) | Message::Binary(_) | Message::Ping(_) | Message::Pong(_),
                )) => {}
            }
        }
    };
    tokio::select! {
        () = telling => {}
        () = leaving => {}
    }
}
