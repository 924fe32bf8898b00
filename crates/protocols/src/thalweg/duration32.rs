//! A wait of no more than seconds, in half the RAM of a [`Duration`].

use thalweg_units::Duration;

/// At most 4.29 s, in nanoseconds: a longer one is as long as that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Short(u32);

impl From<Duration> for Short {
    fn from(time: Duration) -> Self {
        Self(u32::try_from(time.as_nanos()).unwrap_or(u32::MAX))
    }
}
impl From<Short> for Duration {
    fn from(Short(nanos): Short) -> Self {
        Self::from_nanos(nanos.into())
    }
}
