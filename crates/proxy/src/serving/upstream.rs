//! A connection to a host, plain or inside TLS, on which requests are sent one after the other.

use std::{
    io,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::BytesMut;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf, ReadHalf, WriteHalf},
    net::TcpStream,
};
use tokio_rustls::client::TlsStream;

use super::intake::Intake;

/// What goes over the wire.
pub(super) enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A connection, split so that a body can be sent while the answer comes.
pub(super) struct Upstream {
    pub(super) intake: Intake<ReadHalf<Wire>>,
    pub(super) write: WriteHalf<Wire>,
    pub(super) address: IpAddr,
}

impl Upstream {
    pub(super) fn new(wire: Wire, address: IpAddr) -> Self {
        let (read, write) = tokio::io::split(wire);
        Self { intake: Intake::new(read, BytesMut::new()), write, address }
    }

    /// Whether nothing came while nobody asked. A host that has closed, or speaks unasked, is not used again.
    pub(super) fn is_quiet(&mut self) -> bool {
        let mut byte = [0];
        let mut out = ReadBuf::new(&mut byte);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let reading = Pin::new(self.intake.reader()).poll_read(&mut context, &mut out);
        self.intake.buffered().is_empty() && reading.is_pending()
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, out),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, out),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
