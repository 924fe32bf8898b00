//! Peers that do not read what they asked for.

use super::*;
use axum::routing::get;
use tokio::io::AsyncWriteExt;

/// Whether the connection of a peer ends that asks for more than it reads.
async fn ends(unread: Duration) -> bool {
    let router = Router::new().route("/", get(|| async { "x".repeat(4_096) }));
    let (mut peer, ours) = tokio::io::duplex(1_024);
    peer.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let answered = answer(ours, router, unread);
    let ended = tokio::time::timeout(Duration::from_secs(1), answered).await;
    drop(peer);
    ended.is_ok()
}

#[test]
fn who_never_reads_leaves_the_seat() {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.unwrap();
    assert!(runtime.block_on(ends(Duration::from_millis(20))));
    assert!(!runtime.block_on(ends(Duration::from_secs(60))));
}
