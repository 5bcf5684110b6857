//! Plays what a scripted model answers, on a connection of the toy internet.

use std::{io::Result, time::Duration};

use testkit::model::{Beat, Head, Length};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

/// What comes after an answer on the same connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Request,
    /// It is torn.
    Nothing,
}

/// Plays every beat when its time has come. Each part is sent off before the next.
pub(super) async fn play<S: AsyncWrite + Unpin>(stream: &mut S, beats: Vec<Beat>) -> Result<Next> {
    let mut length = Length::Known(0);
    for beat in beats {
        match beat {
            Beat::Head(head) => {
                length = head.length;
                stream.write_all(written(&head).as_bytes()).await?;
            }
            Beat::Bytes(bytes) => part(stream, length, &bytes).await?,
            Beat::Again { bytes, times } => {
                for _ in 0..times {
                    part(stream, length, &bytes).await?;
                }
            }
            Beat::Endless(bytes) => loop {
                part(stream, length, &bytes).await?;
            },
            Beat::Pause(time) => rest(time).await,
            Beat::Silence => {
                stream.flush().await?;
                return std::future::pending().await;
            }
            Beat::Cut => {
                stream.flush().await?;
                return Ok(Next::Nothing);
            }
        }
    }
    if length == Length::Chunked {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.flush().await?;
    Ok(Next::Request)
}

fn written(head: &Head) -> String {
    let mut text = format!("HTTP/1.1 {} Toy\r\n", head.status);
    for (name, value) in &head.headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    match head.length {
        Length::Known(length) => text + &format!("content-length: {length}\r\n\r\n"),
        Length::Chunked => text + "transfer-encoding: chunked\r\n\r\n",
    }
}

async fn part<S: AsyncWrite + Unpin>(stream: &mut S, length: Length, bytes: &[u8]) -> Result<()> {
    // An empty chunk would be the end.
    if bytes.is_empty() {
        return Ok(());
    }
    match length {
        Length::Known(_) => stream.write_all(bytes).await?,
        Length::Chunked => {
            stream.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
            stream.write_all(bytes).await?;
            stream.write_all(b"\r\n").await?;
        }
    }
    stream.flush().await
}

#[expect(
    clippy::disallowed_methods,
    reason = "a slow model is slow by the clock of the program that waits for it"
)]
async fn rest(time: Duration) {
    tokio::time::sleep(time).await;
}

#[cfg(test)]
#[path = "beats_tests.rs"]
mod tests;
