//! Peers that do not read what they asked for, or hardly.

use super::*;
use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Whether the connection of a peer ends within a second that asks for 64 kB, and then reads so many bytes every 5 ms.
async fn ends(unread: Duration, reads: usize) -> bool {
    let router = Router::new().route("/", get(|| async { "x".repeat(65_536) }));
    let (mut peer, ours) = tokio::io::duplex(64);
    peer.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let answered = answer(ours, router, unread);
    let reading = async {
        let mut piece = vec![0; reads];
        while reads > 0 && peer.read_exact(&mut piece).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = answered => true,
        () = tokio::time::sleep(Duration::from_secs(1)) => false,
        () = reading => false,
    }
}

#[test]
fn who_never_reads_or_hardly_leaves_the_seat() {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap();
    let short = Duration::from_millis(50);
    assert!(runtime.block_on(ends(short, 0)), "it reads nothing");
    assert!(runtime.block_on(ends(short, 1)), "200 bytes a second");
    assert!(!runtime.block_on(ends(Duration::from_secs(60), 0)));
}
