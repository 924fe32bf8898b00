//! Environments from measured link traces: the reception ratio that was measured is the channel.
//!
//! Mean RSSI gives the amplitude. Where the modem would receive more at that amplitude than was
//! measured, the rest is a residual hazard per symbol (what the site does to that link: foreign
//! traffic, fading deeper than the model's); where it would receive less, the amplitude is raised
//! to what the ratio asks for (RSSI registers are off by some decibels). Either way a single
//! sender's frames of the trace's size arrive with the measured ratio. RSSI is known of received
//! frames only, so weak links look stronger than they are. Tests: `measured_tests.rs`.

use crate::chip::Chip;
use crate::environment::{Ear, Environment, SingleLink};
use crate::interference::Interference;
use crate::links::{Link, LinksBuilder};
use crate::modem::Demodulator;
use crate::random::derive;
use crate::variation::{Factors, Variation};
use crate::EarId;
use thalweg_units::{Channel, Dbm};

/// A measured link on one channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredLink {
    /// Sender, from 0.
    pub from: u32,
    /// Receiver, from 0.
    pub to: u32,
    /// Channel.
    pub channel: Channel,
    /// Packet reception ratio, 0..=1.
    pub prr: f64,
    /// Mean RSSI of the frames received, where it was recorded.
    pub rssi: Option<Dbm>,
}

/// The frames that a trace was measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredFrame {
    /// PSDU bytes, FCS included.
    pub psdu_bytes: u16,
}

/// A ratio that no finite power gives is taken for this one.
const MOST_PRR: f64 = 0.9999;

/// Reception ratio of a radio against received power, and back, by table.
#[derive(Debug)]
pub struct Levels {
    lowest: f64,
    ratios: Vec<f64>,
    symbols: f64,
}

impl Levels {
    const STEP_DB: f64 = 0.125;
    const STEPS: usize = 321;

    fn new(chip: &'static Chip, frame: MeasuredFrame) -> Self {
        let demodulator = Demodulator::default();
        let factors = Factors::new(Variation::STILL.within_seconds());
        let single = SingleLink {
            chip,
            noise_mw: chip.noise_floor.milliwatts().0,
        };
        let lowest = chip.noise_floor.0 - 12.0;
        let psdu = usize::from(frame.psdu_bytes);
        let ratios = (0..Self::STEPS)
            .map(|step| {
                let level = Dbm(lowest + Self::STEP_DB * step as f64).milliwatts().0;
                single.prr(&demodulator, level, 0.0, psdu, &factors)
            })
            .collect();
        Self {
            lowest,
            ratios,
            symbols: single.symbols(psdu),
        }
    }

    /// The share of frames that is received at `level`, 0 to 1.
    pub fn ratio_at(&self, level: Dbm) -> f64 {
        let place = (level.0 - self.lowest) / Self::STEP_DB;
        if place <= 0.0 {
            return 0.0;
        }
        match self.ratios.get(place as usize..place as usize + 2) {
            Some([a, b]) => a + (b - a) * (place - place.floor()),
            _ => 1.0,
        }
    }

    /// The lowest level at which `ratio` of the frames is received; a ratio that no finite power gives is taken
    /// for .9999.
    pub fn needed(&self, ratio: f64) -> Dbm {
        let ratio = ratio.min(MOST_PRR);
        let above = self.ratios.partition_point(|r| *r < ratio);
        let place = match self.ratios.get(above.saturating_sub(1)..=above) {
            Some(&[a, b]) if b > a => above as f64 - 1.0 + (ratio - a) / (b - a),
            _ => above as f64,
        };
        Dbm(self.lowest + Self::STEP_DB * place)
    }
}

impl MeasuredFrame {
    /// How frames of this size arrive at a radio of `chip` from a single sender.
    pub fn levels(self, chip: &'static Chip) -> Levels {
        Levels::new(chip, self)
    }
}

impl Environment {
    /// The site of a trace: `nodes` ears of `chip`, and of each measured link its reception ratio
    /// for frames of the size `frame`. Links that received nothing are absent, as are those of
    /// nodes that do not exist; of several entries for the same link and channel the last holds. Links go on to
    /// vary by `variation` after what was measured.
    pub fn from_measured(
        nodes: usize,
        links: impl IntoIterator<Item = MeasuredLink>,
        frame: MeasuredFrame,
        variation: Variation,
        chip: &'static Chip,
        seed: u64,
    ) -> Self {
        let ears = (0..nodes)
            .map(|number| Ear::nominal(chip, number, seed))
            .collect();
        let curve = Levels::new(chip, frame);
        let mut builder = LinksBuilder::new(nodes);
        // A comparison that NaN fails, too.
        for link in links.into_iter().filter(|link| link.prr > 0.0) {
            let prr = link.prr.min(1.0);
            let needed = curve.needed(prr);
            let level = link.rssi.filter(|rssi| rssi.0 > needed.0).unwrap_or(needed);
            let excess = curve.ratio_at(level) / prr;
            let erasure = if excess > 1.0 {
                libm::log(excess) / curve.symbols.max(1.0)
            } else {
                0.0
            };
            builder.add(
                EarId(link.from),
                link.channel,
                Link {
                    to: EarId(link.to),
                    gain_mw: level.milliwatts().0 as f32,
                    delay_ns: 0.0,
                    erasure: erasure as f32,
                },
            );
        }
        Self::new(ears, builder.build(), Interference::none(), variation).in_world(derive(
            seed,
            "world",
            &[],
        ))
    }
}

#[cfg(test)]
#[path = "measured_tests.rs"]
mod tests;
