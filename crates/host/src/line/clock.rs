//! The host's estimate of a station's clock: the reading with the shortest round trip of each second, and a straight
//! line through the oldest and the newest of them. Tests: `clock_tests.rs`.

use crate::network::NetworkTime;
use std::collections::VecDeque;
use thalweg_units::{Duration, Instant};

/// The most readings that are kept, one for each second.
const MAX_READINGS: usize = 16;
const WINDOW: Duration = Duration::from_secs(1);
/// Readings closer than this do not show a clock's rate.
const APART: Duration = Duration::from_millis(500);

/// A pair of times on both clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    host: NetworkTime,
    station: Instant,
    round_trip: Duration,
}

/// Readings of one station's clock.
#[derive(Debug, Default)]
pub(super) struct Readings {
    best: VecDeque<Reading>,
    /// When the newest one's second began.
    began: NetworkTime,
}

impl Readings {
    /// The host sent its request and got the answer at `host`; the station received and answered at `station`.
    pub(super) fn add(&mut self, host: (NetworkTime, NetworkTime), station: (Instant, Instant)) {
        let (took, held) = (host.1.since(host.0), station.1.since(station.0));
        if host.1 < host.0 || station.1 < station.0 || held > took {
            return;
        }
        let round_trip = took.saturating_sub(held);
        let reading = Reading {
            host: host.0 + round_trip / 2,
            station: station.0,
            round_trip,
        };
        match self.best.back_mut() {
            Some(last) if host.1 < self.began + WINDOW => {
                if reading.round_trip < last.round_trip {
                    *last = reading;
                }
            }
            _ => {
                self.began = host.1;
                if self.best.len() == MAX_READINGS {
                    self.best.pop_front();
                }
                self.best.push_back(reading);
            }
        }
    }

    /// The newest reading, and seconds of the host for one of the station.
    fn line(&self) -> Option<(Reading, f64)> {
        let (first, last) = (self.best.front()?, self.best.back()?);
        let (host, station) = (
            last.host.since(first.host),
            last.station.since(first.station),
        );
        let rate = match host >= APART && !station.is_zero() {
            true => host.as_secs_f64() / station.as_secs_f64(),
            false => 1.0,
        };
        Some((*last, rate))
    }
    /// When the station's clock reads `local`; none before the first reading.
    pub(super) fn when(&self, local: Instant) -> Option<NetworkTime> {
        let (last, rate) = self.line()?;
        let scaled = |time: Duration| Duration::from_secs_f64(time.as_secs_f64() * rate);
        Some(match local >= last.station {
            true => last.host + scaled(local.since(last.station)),
            false => last.host.saturating_sub(scaled(last.station.since(local))),
        })
    }
    /// What the station's clock reads at `host`; none before the first reading.
    pub(super) fn reads(&self, host: NetworkTime) -> Option<Instant> {
        let (last, rate) = self.line()?;
        let scaled = |time: Duration| Duration::from_secs_f64(time.as_secs_f64() / rate);
        Some(match host >= last.host {
            true => last.station + scaled(host.since(last.host)),
            false => last.station.saturating_sub(scaled(last.host.since(host))),
        })
    }

    /// The station has restarted.
    pub(super) fn forget(&mut self) {
        self.best.clear();
    }
}

#[cfg(test)]
#[path = "clock_tests.rs"]
mod tests;
