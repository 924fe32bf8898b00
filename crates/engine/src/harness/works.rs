//! Jobs of engines in the test network: done after a time of their own, whatever the radio does.

use super::{Net, What};
use crate::Engine;
use thalweg_units::Duration;

/// What a job costs in the test network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Price {
    /// No time.
    #[default]
    Nothing,
    /// So much for each byte that is multiplied, read or written.
    PerByte(Duration),
    /// It is never done.
    Never,
}

impl<E: Engine> Net<E> {
    /// Jobs cost this from now on.
    pub fn price(&mut self, price: Price) {
        self.price = price;
    }

    /// Takes the job of node `n`, if it has one.
    pub(super) fn begin_work(&mut self, n: usize) {
        let Some(work) = self.nodes[n].engine_mut().poll_work() else {
            return;
        };
        let bytes = [work.multiplied, work.read, work.written];
        let bytes: u64 = bytes.into_iter().map(u64::from).sum();
        let cost = match self.price {
            Price::Nothing => Duration::ZERO,
            Price::PerByte(byte) => byte * bytes,
            Price::Never => return,
        };
        let at = self.ground.now + cost;
        self.ground.at(at, What::Worked { node: n });
    }

    /// The job of node `n` is done.
    pub(super) fn worked(&mut self, n: usize) {
        self.call(n, |driver, now| {
            driver.engine_mut().handle_work(now);
            driver.start()
        });
    }
}
