//! A field that somebody may interrupt. Tests: with the daemon's.

use thalweg_units::{Duration, Instant, NodeId};

use crate::field::{Clock, Field, FieldError, FieldTime, News};

/// So often it is asked whether to go on, by field time.
const SLICE: Duration = Duration::from_millis(200);

/// A field as long as nobody says stop.
pub(super) struct Watched<'a, F> {
    pub(super) field: &'a mut F,
    /// Whether to stop.
    pub(super) stop: &'a dyn Fn() -> bool,
}

impl<F: Field> Clock for Watched<'_, F> {
    fn when(&self, station: NodeId, local: Instant) -> FieldTime {
        self.field.when(station, local)
    }
}

impl<F: Field> Field for Watched<'_, F> {
    type Order = F::Order;
    type Event = F::Event;

    fn now(&self) -> FieldTime {
        self.field.now()
    }
    fn order(&mut self, station: NodeId, order: F::Order) -> Result<(), FieldError> {
        self.field.order(station, order)
    }
    fn next(&mut self, until: FieldTime) -> Result<News<F::Event>, FieldError> {
        loop {
            if (self.stop)() {
                return Ok(News::Cancelled);
            }
            let slice = until.min(self.field.now() + SLICE);
            match self.field.next(slice)? {
                News::Nothing if slice < until => {}
                news => return Ok(news),
            }
        }
    }
    fn take(&mut self, station: NodeId, len: usize) -> Result<Vec<u8>, FieldError> {
        self.field.take(station, len)
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        self.field.joules(node)
    }
}
