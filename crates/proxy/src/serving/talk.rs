//! A connection with a program, on which it asks and we answer.

use std::io;

use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadHalf, WriteHalf},
    time::timeout,
};

use super::{intake::Intake, limits};

#[derive(Debug)]
pub(super) struct Talk<S> {
    pub(super) intake: Intake<ReadHalf<S>>,
    pub(super) write: WriteHalf<S>,
}

/// Whether a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Again,
    Close,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Talk<S> {
    /// `before` are the bytes that were read already.
    pub(super) fn new(stream: S, before: BytesMut) -> Self {
        let (read, write) = tokio::io::split(stream);
        Self { intake: Intake::new(read, before), write }
    }

    /// The stream again, with what was read too far.
    pub(super) fn into_stream(self) -> (S, BytesMut) {
        let (read, before) = self.intake.into_parts();
        (read.unsplit(self.write), before)
    }

    pub(super) async fn say(&mut self, bytes: &[u8]) -> io::Result<()> {
        say(&mut self.write, bytes).await
    }

    /// Ends it so that the program sees what was said last: what it still sends is read over for a while. Closing at once would make
    /// its kernel throw away our answer.
    pub(super) async fn farewell(mut self) {
        let lingering = async {
            self.write.shutdown().await?;
            let mut over = 0;
            while over < limits::LINGER_BYTES {
                let count = self.intake.fill().await?;
                if count == 0 {
                    break;
                }
                over += count;
                self.intake.skip(usize::MAX);
            }
            io::Result::Ok(())
        };
        let _ = timeout(limits::LINGER, lingering).await;
    }
}

/// Sends all of it, now. A program that does not take it in time is given up.
pub(super) async fn say<W: AsyncWrite + Unpin>(write: &mut W, bytes: &[u8]) -> io::Result<()> {
    let saying = async {
        write.write_all(bytes).await?;
        write.flush().await
    };
    match timeout(limits::BODY, saying).await {
        Ok(said) => said,
        Err(_late) => Err(io::Error::new(io::ErrorKind::TimedOut, "it was not taken in time")),
    }
}
