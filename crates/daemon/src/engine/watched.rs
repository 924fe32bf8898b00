//! A network for the daemon's jobs: they can be interrupted and see its time, and the store numbers its floods.
//! Tests: with the daemon's.

use thalweg_units::{Duration, NodeId};

use thalweg_host::network::{Layered, Network, NetworkFault, NetworkTime, Notice, NoticeOf};
use thalweg_host::security::{has_floods, NUMBERS};
use thalweg_host::transfer::pipeline::Order;

use crate::clock::now;
use crate::station_state::StationState;

/// How often to check for an interruption, in network time.
const SLICE: Duration = Duration::from_millis(200);

/// A network that reports [`Notice::Cancelled`] once `stop` says so.
pub(super) struct Watched<'a, F: Network> {
    pub(super) network: &'a mut F,
    /// Whether to stop.
    pub(super) stop: &'a dyn Fn() -> bool,
    /// Called with the time, now and then.
    pub(super) tick: &'a dyn Fn(NetworkTime),
    /// What is to be ordered before an order.
    pub(super) before: Before<'a, F>,
    /// An order to send during the wait, if there is one.
    pub(super) recall: Recall<'a, F>,
}

/// An order to send during the wait, and the base station that gets it.
type Recall<'a, F> = &'a dyn Fn() -> Option<(NodeId, <F as Network>::Order)>;

/// What is to be ordered before an order, if anything is.
type Before<'a, F> =
    &'a dyn Fn(&<F as Network>::Order) -> Result<Option<<F as Network>::Order>, NetworkFault>;

/// The numbers of the floods of `order`, reserved in the store of `station`; none in a network that is not secured.
pub(super) fn numbered(
    station: &StationState,
    order: &Order,
) -> Result<Option<Order>, NetworkFault> {
    let is_secured = station.facts.network.keys.is_some();
    if !is_secured || !has_floods(order) {
        return Ok(None);
    }
    let (from, count) = (reserve(station)?, NUMBERS);
    Ok(Some(Order::Numbers { from, count }))
}

/// The first of numbers that are reserved in the store of `station`.
pub(super) fn reserve(station: &StationState) -> Result<u32, NetworkFault> {
    let reserved = station.store().reserve_numbers(NUMBERS, now());
    reserved.map_err(|why| NetworkFault::Broken(Box::new(why)))
}

impl<F: Network> Layered for Watched<'_, F> {
    type Inner = F;

    fn inner(&self) -> &F {
        self.network
    }
    fn inner_mut(&mut self) -> &mut F {
        self.network
    }
    fn pass_on(&mut self, station: NodeId, order: F::Order) -> Result<(), NetworkFault> {
        if let Some(first) = (self.before)(&order)? {
            self.network.order(station, first)?;
        }
        self.network.order(station, order)
    }
    fn advance(&mut self, until: NetworkTime) -> Result<NoticeOf<F>, NetworkFault> {
        loop {
            if (self.stop)() {
                return Ok(Notice::Cancelled);
            }
            (self.tick)(self.network.now());
            if let Some((station, order)) = (self.recall)() {
                self.network.order(station, order)?;
            }
            let slice = until.min(self.network.now() + SLICE);
            match self.network.next(slice)? {
                Notice::Nothing if slice < until => {}
                news => return Ok(news),
            }
        }
    }
}
