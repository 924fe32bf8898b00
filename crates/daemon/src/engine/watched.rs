//! A network whose jobs can be interrupted, and of which somebody is told the time. Tests: with the daemon's.

use thalweg_units::Duration;

use thalweg_host::network::{Layered, Network, NetworkFault, NetworkTime, Notice, NoticeOf};

/// How often to check for an interruption, in network time.
const SLICE: Duration = Duration::from_millis(200);

/// A network that reports [`Notice::Cancelled`] once `stop` says so.
pub(super) struct Watched<'a, F> {
    pub(super) network: &'a mut F,
    /// Whether to stop.
    pub(super) stop: &'a dyn Fn() -> bool,
    /// Called with the time, now and then.
    pub(super) tick: &'a dyn Fn(NetworkTime),
}

impl<F: Network> Layered for Watched<'_, F> {
    type Inner = F;

    fn inner(&self) -> &F {
        self.network
    }
    fn inner_mut(&mut self) -> &mut F {
        self.network
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<F>, NetworkFault> {
        loop {
            if (self.stop)() {
                return Ok(Notice::Cancelled);
            }
            (self.tick)(self.network.now());
            let slice = until.min(self.network.now() + SLICE);
            match self.network.next(slice)? {
                Notice::Nothing if slice < until => {}
                news => return Ok(news),
            }
        }
    }
}
