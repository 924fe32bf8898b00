//! Congestion detection: by queue occupancy, or by sampling the channel after CODA (section 4.2).

use super::strategy::{Detection, Sampling};
use crate::stack::{ChannelState, Fill};
use thalweg_units::Instant;
use thalweg_wire::addressed::Congestion;

const fn state(is_congested: bool) -> Congestion {
    match is_congested {
        true => Congestion::Congested,
        false => Congestion::Clear,
    }
}

/// A node's view of its own congestion.
#[derive(Debug)]
pub(super) struct Detector {
    detection: Detection,
    /// When the channel is sampled next; only while packets wait.
    next: Option<Instant>,
    is_wanted: bool,
    epoch_end: Instant,
    epochs_left: u8,
    busy: u16,
    samples: u16,
    utilisation: f64,
    state: Congestion,
}

impl Detector {
    /// Not congested.
    pub(super) const fn new(detection: Detection) -> Self {
        Self {
            detection,
            next: None,
            is_wanted: false,
            epoch_end: Instant::ZERO,
            epochs_left: 0,
            busy: 0,
            samples: 0,
            utilisation: 0.0,
            state: Congestion::Clear,
        }
    }

    /// Whether the node is congested.
    #[inline]
    pub(super) const fn congestion(&self) -> Congestion {
        self.state
    }

    /// The queue has changed: sampling begins with the first packet that waits.
    pub(super) fn queued(&mut self, now: Instant, fill: Fill) {
        match self.detection {
            Detection::Off => {}
            Detection::Occupancy { alpha } => {
                let taken = f64::from(fill.packets) / f64::from(fill.limit);
                self.state = state(taken >= alpha);
            }
            Detection::Sampling(_) if fill.packets == 0 => {
                self.next = None;
                self.state = Congestion::Clear;
                self.epochs_left = 0;
            }
            Detection::Sampling(s) if self.next.is_none() => self.begin(now, s),
            Detection::Sampling(_) => {}
        }
    }

    fn begin(&mut self, now: Instant, s: Sampling) {
        self.next = Some(now + s.interval);
        self.epoch_end = now + s.epoch;
        self.epochs_left = s.epochs;
        (self.busy, self.samples) = (0, 0);
    }

    /// When the channel is to be sampled.
    #[inline]
    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }
    /// It is time for a sample.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if let Detection::Sampling(s) = self.detection {
            self.next = Some(now + s.interval);
            self.is_wanted = true;
        }
    }
    /// Whether it wants a sample now; asked once for each.
    #[inline]
    pub(super) fn poll_sample(&mut self) -> bool {
        core::mem::take(&mut self.is_wanted)
    }
    /// The channel was busy, or not.
    pub(super) fn sampled(&mut self, now: Instant, busy: ChannelState) {
        let Detection::Sampling(s) = self.detection else {
            return;
        };
        self.samples += 1;
        self.busy += u16::from(busy == ChannelState::Busy);
        if now < self.epoch_end {
            return;
        }
        let share = f64::from(self.busy) / f64::from(self.samples.max(1));
        self.utilisation = s.alpha * self.utilisation + (1.0 - s.alpha) * share;
        (self.busy, self.samples) = (0, 0);
        self.epoch_end = now + s.epoch;
        self.epochs_left = self.epochs_left.saturating_sub(1);
        if self.epochs_left == 0 {
            self.state = state(self.utilisation > s.threshold);
            self.epochs_left = s.epochs;
        }
    }
}
