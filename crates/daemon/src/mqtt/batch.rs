//! Messages in flight to the broker, and which of them it has acknowledged.
//!
//! Invariant: only messages before which nothing is missing are over, so that what is sent again is sent in order.
//! Tests: `batch_tests.rs`.

/// Messages that were handed over in their order, with the numbers of their rows.
#[derive(Debug)]
pub(super) struct Batch {
    rows: Vec<Option<i64>>,
    /// The numbers that the line gave the first of them, and whether it is acknowledged.
    sent: Vec<(u16, bool)>,
}

impl Batch {
    /// Messages, those that have a row with its number.
    pub(super) fn new(rows: Vec<Option<i64>>) -> Self {
        let sent = Vec::with_capacity(rows.len());
        Self { rows, sent }
    }
    /// The next of them went out as number `packet`.
    pub(super) fn sent(&mut self, packet: u16) {
        if self.sent.len() < self.rows.len() {
            self.sent.push((packet, false));
        }
    }
    /// The broker has acknowledged number `packet`.
    pub(super) fn acknowledge(&mut self, packet: u16) {
        let of = |(number, done): &&mut (u16, bool)| *number == packet && !*done;
        if let Some((_, done)) = self.sent.iter_mut().find(of) {
            *done = true;
        }
    }
    fn acknowledged_count(&self) -> usize {
        self.sent.iter().take_while(|(_, done)| *done).count()
    }
    /// Whether all of them are acknowledged.
    pub(super) fn is_done(&self) -> bool {
        self.acknowledged_count() == self.rows.len()
    }
    /// Rows that are over.
    pub(super) fn acknowledged_rows(&self) -> Vec<i64> {
        let acknowledged_count = self.rows.iter().take(self.acknowledged_count());
        acknowledged_count.copied().flatten().collect()
    }
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
