//! Connections whose peers have to read: a peer that reads nothing, or little, would hold a seat for ever.
//!
//! Invariant: a peer keeps its connection waiting for its patience at most, and a second more for each [`LEAST_BYTES`] that it
//! takes. Streams of events wait for news, not for their peer. Time base: the runtime's. Tests: at the end, `serve_tests.rs`.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{sleep, Instant, Sleep};

/// Even a slow tunnel carries this many bytes a second.
const LEAST_BYTES: u64 = 1_000;

/// A wait for the peer: since when, and until when at most.
type Wait = (Instant, Pin<Box<Sleep>>);

/// A connection that ends where its peer does not read.
pub(super) struct Reader<S> {
    stream: S,
    patience: Duration,
    taken: u64,
    waited: Duration,
    wait: Option<Wait>,
}

impl<S> Reader<S> {
    /// `stream`, whose peer may be waited for so long.
    pub(super) const fn new(stream: S, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            taken: 0,
            waited: Duration::ZERO,
            wait: None,
        }
    }

    /// What is left of the patience with the peer.
    fn left(&self) -> Duration {
        let earned = Duration::from_millis(self.taken.saturating_mul(1_000) / LEAST_BYTES);
        (self.patience + earned).saturating_sub(self.waited)
    }

    /// Notes the result of a write, and how many bytes it took.
    fn note<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
        bytes: impl FnOnce(&T) -> usize,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(done) = written {
            self.taken += done.as_ref().map_or(0, |done| bytes(done) as u64);
            if let Some((since, _)) = self.wait.take() {
                self.waited += since.elapsed();
            }
            return Poll::Ready(done);
        }
        let left = self.left();
        let wait = || (Instant::now(), Box::pin(sleep(left)));
        let (_, end) = self.wait.get_or_insert_with(wait);
        match end.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Reader<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Reader<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.note(cx, written, |bytes| *bytes)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.note(cx, written, |bytes| *bytes)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.note(cx, flushed, |()| 0)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.note(cx, shut, |()| 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_a_kilobyte_a_second_is_waited_for() {
        let mut reader = Reader::new((), Duration::from_secs(60));
        (reader.taken, reader.waited) = (10_000, Duration::from_secs(65));
        assert_eq!(reader.left(), Duration::from_secs(5));
        reader.waited = Duration::from_secs(70);
        assert!(reader.left().is_zero());
    }
}
