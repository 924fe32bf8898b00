//! What transfers saw of links, as readings of their levels.

use super::Reading;
use crate::ageing::changed_share;
use crate::bisect;
use crate::calibration::STRONG_DB;
use crate::link_model::LinkModel;
use std::collections::BTreeMap;
use thalweg_units::{Channel, Db, Duration};

/// Frames of a transfer that count as frames of one survey; links change while more are sent.
const COUNTED: u32 = 30;

/// What a transfer saw of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sighting {
    /// Who sent.
    pub from: usize,
    /// Who received.
    pub to: usize,
    /// On which channel.
    pub channel: Channel,
    /// Frames that were sent.
    pub sent: u32,
    /// Frames that were received.
    pub received: u32,
    /// How long before the coming transfer.
    pub age: Duration,
}

impl Sighting {
    /// Frames that were sent, one at least, and the share of them that was received.
    fn counts(&self) -> (f64, f64) {
        let sent = f64::from(self.sent.max(1));
        (sent, (f64::from(self.received) / sent).min(1.0))
    }
}

/// What transfers saw, by link.
pub(super) struct Sightings<'a> {
    links: BTreeMap<(usize, usize, Channel), Vec<&'a Sighting>>,
    /// Between which margins counts are no surprise, by frames sent and received: many transfers count the same.
    margins: BTreeMap<(u32, u32), [f64; 2]>,
}

impl<'a> Sightings<'a> {
    pub(super) fn of(seen: &'a [Sighting]) -> Self {
        let mut links: BTreeMap<_, Vec<&Sighting>> = BTreeMap::new();
        for sighting in seen {
            let of = (sighting.from, sighting.to, sighting.channel);
            links.entry(of).or_default().push(sighting);
        }
        let margins = BTreeMap::new();
        Self { links, margins }
    }
    /// Those of one link as readings, where that is at `level` by all others.
    pub(super) fn of_link(
        &mut self,
        link: (usize, usize, Channel),
        model: &LinkModel,
        level: impl FnOnce() -> f64,
    ) -> Vec<Reading> {
        let Some(seen) = self.links.get(&link) else {
            return Vec::new();
        };
        let (level, margins) = (level(), &mut self.margins);
        let reading = |sighting: &&Sighting| {
            let counts = margins.entry((sighting.sent, sighting.received));
            let between = counts.or_insert_with(|| model.margins_of(sighting));
            model.sighted(sighting, level, *between)
        };
        seen.iter().map(reading).collect()
    }
}

impl LinkModel {
    /// Between which margins the count of `sighting` is no surprise, in decibels.
    fn margins_of(&self, sighting: &Sighting) -> [f64; 2] {
        let (sent, share) = sighting.counts();
        // Wilson's interval of a standard deviation: of all frames none is lost by chance alone.
        let (middle, wide) = (
            (share + 0.5 / sent) / (1.0 + 1.0 / sent),
            (share * (1.0 - share) / sent + 0.25 / (sent * sent)).sqrt() / (1.0 + 1.0 / sent),
        );
        // Frames lost to other users of the channel say nothing of the link.
        let kept = 1.0 - self.outage;
        [middle - wide, middle + wide].map(|share| self.margin_of(share / kept.max(0.5)))
    }

    /// `sighting` as a reading of a link which is at `level` by all its other readings: that level, or the nearest
    /// under which the count is no surprise, `between` two margins.
    fn sighted(&self, sighting: &Sighting, level: f64, between: [f64; 2]) -> Reading {
        let [low, high] = between;
        let level = level.clamp(self.floor.0 + low, self.floor.0 + high.max(low));
        Reading {
            level,
            prr: sighting.counts().1,
            sent: Some(sighting.sent.min(COUNTED)),
            age: sighting.age,
            changed: changed_share(sighting.age),
        }
    }

    /// The margin, in decibels, with which a share of `delivery` arrives of a link whose level is known.
    fn margin_of(&self, delivery: f64) -> f64 {
        if delivery >= 0.999 {
            return 10.0 * STRONG_DB;
        }
        let below = |margin| self.delivery_over(Db(margin), Db(0.0)) < delivery;
        bisect::last(-2.0 * STRONG_DB, 2.0 * STRONG_DB, below)
    }
}
