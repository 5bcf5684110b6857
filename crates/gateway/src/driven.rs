//! A stream that drives the work whose items it yields.
//!
//! The work lives in the stream: whoever drops the answer ends the work, and nothing runs on unowned.

use futures::{Stream, future::BoxFuture, stream};
use tokio::sync::mpsc::Receiver;

/// What the work gave out, or what came of it. The latter is last.
pub(crate) enum News<I, O> {
    Item(I),
    End(O),
}

struct Work<I, O> {
    running: Option<BoxFuture<'static, O>>,
    items: Receiver<I>,
    ended: Option<O>,
}

pub(crate) fn driven<I: Send + 'static, O: Send + 'static>(
    running: BoxFuture<'static, O>,
    items: Receiver<I>,
) -> impl Stream<Item = News<I, O>> + Send + 'static {
    let work = Work { running: Some(running), items, ended: None };
    stream::unfold(work, async |mut work| {
        if let Some(running) = &mut work.running {
            tokio::select! {
                biased;
                Some(item) = work.items.recv() => return Some((News::Item(item), work)),
                ended = running => {
                    work.running = None;
                    work.ended = Some(ended);
                }
            }
        }
        // All that the work gave out is here by now; others may hold a sender for longer than it.
        if let Ok(item) = work.items.try_recv() {
            return Some((News::Item(item), work));
        }
        let ended = work.ended.take()?;
        Some((News::End(ended), work))
    })
}
