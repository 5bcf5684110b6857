//! A stream of lines, each a JSON document.

use bytes::Bytes;
use futures::{Stream, StreamExt as _, stream};
use serde::de::DeserializeOwned;

use super::ClientError;

/// A line longer than this is not waited for.
const LONGEST: usize = 4 << 20;

struct Reading<S> {
    chunks: S,
    begun: Vec<u8>,
}

pub(super) fn parsed<T: DeserializeOwned>(
    chunks: impl Stream<Item = Result<Bytes, ClientError>>,
) -> impl Stream<Item = Result<T, ClientError>> {
    let reading = Reading { chunks: Box::pin(chunks), begun: Vec::new() };
    stream::try_unfold(reading, async |mut reading| {
        loop {
            if let Some(end) = reading.begun.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = reading.begun.drain(..=end).collect();
                let parsed = serde_json::from_slice(&line);
                let parsed = parsed.map_err(|error| ClientError::strange(&error))?;
                return Ok(Some((parsed, reading)));
            }
            if reading.begun.len() > LONGEST {
                return Err(ClientError::strange(&"a line without an end"));
            }
            match reading.chunks.next().await {
                Some(chunk) => reading.begun.extend_from_slice(&chunk?),
                None if reading.begun.is_empty() => return Ok(None),
                None => return Err(ClientError::broken(&"it ended in the middle of a line")),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(chunks: &[&'static str]) -> Vec<Result<u32, String>> {
        let chunks = chunks.iter().map(|chunk| Ok(Bytes::from_static(chunk.as_bytes())));
        let parsed = parsed::<u32>(stream::iter(chunks.collect::<Vec<_>>()));
        let parsed = parsed.map(|it| it.map_err(|error| error.to_string()));
        parsed.collect().await
    }

    #[tokio::test]
    async fn lines_are_put_together_from_chunks() {
        assert_eq!(read(&["1\n2", "3\n", "4\n"]).await, [Ok(1), Ok(23), Ok(4)]);
        let torn = read(&["1\n2"]).await;
        assert_eq!(torn.len(), 2);
        assert!(torn[1].is_err());
    }
}
