//! A field that somebody may interrupt. Tests: with the daemon's.

use thalweg_units::Duration;

use thalweg_host::field::{Around, Field, FieldError, FieldTime, News, Told};

/// So often it is asked whether to go on, by field time.
const SLICE: Duration = Duration::from_millis(200);

/// A field as long as nobody says stop.
pub(super) struct Watched<'a, F> {
    pub(super) field: &'a mut F,
    /// Whether to stop.
    pub(super) stop: &'a dyn Fn() -> bool,
}

impl<F: Field> Around for Watched<'_, F> {
    type Inner = F;

    fn inner(&self) -> &F {
        self.field
    }
    fn inner_mut(&mut self) -> &mut F {
        self.field
    }
    fn advance(&mut self, until: FieldTime) -> Result<Told<F>, FieldError> {
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
}
