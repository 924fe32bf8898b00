//! Environments from measured link traces (filled in below).
use crate::chip::Chip;
use crate::environment::Environment;
use crate::{EarId, Link, LinksBuilder};
use thalweg_units::{Channel, Db, Dbm};

/// A measured link on one channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredLink {
    /// Sender.
    pub from: u32,
    /// Receiver.
    pub to: u32,
    /// Channel.
    pub channel: Channel,
    /// Packet reception ratio, 0..=1.
    pub prr: f64,
    /// Mean RSSI of the frames received.
    pub rssi: Option<Dbm>,
}

/// The frames that a trace was measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredFrame {
    /// PSDU bytes, FCS included.
    pub psdu_bytes: u16,
}

impl Environment {
    /// A site as measured.
    pub fn from_measured(
        nodes: usize,
        links: impl IntoIterator<Item = MeasuredLink>,
        _frame: MeasuredFrame,
        chip: &'static Chip,
        seed: u64,
    ) -> Self {
        let ears = (0..nodes)
            .map(|n| crate::Ear::nominal(chip, n, seed))
            .collect();
        let mut builder = LinksBuilder::new(nodes);
        for link in links {
            let level = link.rssi.unwrap_or(chip.noise_floor + Db(10.0));
            builder.add(
                EarId(link.from),
                link.channel,
                Link {
                    to: EarId(link.to),
                    gain_mw: level.milliwatts().0 as f32,
                    delay_ns: 0.0,
                    erasure: 0.0,
                },
            );
        }
        Self::new(
            ears,
            builder.build(),
            crate::Interference::none(),
            crate::Variation::NONE,
        )
    }
}
