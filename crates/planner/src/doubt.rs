//! What a sweep's few beacons leave of links that look good enough for a long chain.
//!
//! A plan over weak links takes those that a sweep read too strong. Three things tell how much: the beacons of a sweep see a
//! link within a second, so one level that may be far from its mean; a network has more weak links than strong ones, so more
//! links of a reading are weaker than it says than are stronger; and the other direction of a link, and beacons that were lost
//! either way, say more than the level of those that arrived. Links of many beacons, and ratios that no survey has counted, are left as they are. Not
//! modelled: changes after the survey. Tests: `doubt_tests.rs`.

use crate::link_model::LinkModel;
use crate::links::{LinkQualities, LinkQuality};
use crate::protocol_constants::{beacon_delivery, of_beacons};
use std::collections::BTreeMap;
use std::f64::consts::FRAC_1_SQRT_2;
use thalweg_units::Db;

/// Levels that are averaged over, in standard deviations: so many steps to either side, of this size.
const STEPS: i32 = 16;
const STEP: f64 = 0.25;

/// What a sweep heard of one direction of a link, and what of the other.
#[derive(Debug, Clone, Copy)]
struct Heard {
    here: LinkQuality,
    /// None where nothing was heard.
    back: Option<LinkQuality>,
    /// Whether the sender has said what it heard.
    has_reported: bool,
}

impl Heard {
    /// To find it again: a sweep has few different readings.
    fn key(&self) -> [u64; 8] {
        let bits = |value: Option<f64>| value.map_or(u64::MAX, f64::to_bits);
        let of = |quality: Option<LinkQuality>| {
            let prr = bits(quality.map(|quality| quality.prr));
            let rssi = bits(quality.and_then(|quality| quality.rssi).map(|rssi| rssi.0));
            let sent = bits(quality.and_then(|quality| quality.sent).map(f64::from));
            (prr, rssi, sent)
        };
        let (here, back) = (of(Some(self.here)), of(self.back));
        let unknown = bits(self.here.unknown.map(|unknown| unknown.0));
        let reported = u64::from(self.has_reported);
        [
            here.0, here.1, here.2, back.0, back.1, back.2, unknown, reported,
        ]
    }
    /// Beacons received and lost, both ways.
    fn counts(&self) -> Option<(f64, f64)> {
        let sent = f64::from(self.here.sent.filter(|_| self.here.is_swept())?);
        let received = self.here.prr * sent;
        let back = match self.back {
            Some(back) => (back.prr * sent, (1.0 - back.prr) * sent),
            None if self.has_reported => (0.0, sent),
            None => (0.0, 0.0),
        };
        Some((received + back.0, sent - received + back.1))
    }
}

impl LinkQualities {
    /// The same with the levels that links of such readings have, on average.
    pub(crate) fn doubted(&self, model: &LinkModel) -> Self {
        let mut has_reported = vec![false; self.nodes()];
        for channel in self.channels().iter() {
            for from in 0..self.nodes() {
                for (to, _) in self.heard_from(from, channel) {
                    has_reported[to] = true;
                }
            }
        }
        let mut known: BTreeMap<[u64; 8], LinkQuality> = BTreeMap::new();
        self.mapped(|hop, here| {
            let heard = Heard {
                here,
                back: self.quality(hop.to, hop.from, hop.channel),
                has_reported: has_reported[hop.from],
            };
            *known
                .entry(heard.key())
                .or_insert_with(|| model.doubted(&heard))
        })
    }
}

impl LinkModel {
    /// What links are on average that a sweep read so.
    fn doubted(&self, heard: &Heard) -> LinkQuality {
        let quality = heard.here;
        let (Some((received, lost)), Some(level)) = (heard.counts(), self.heard(&quality)) else {
            return quality;
        };
        let (here, unknown) = (level - self.floor, self.unknown_of(&quality).0);
        // Both directions have one level; what a second holds of it they share.
        let (read, unknown) = match heard.back.and_then(|back| self.heard(&back)) {
            Some(back) => {
                let back = back - self.floor;
                (Db(0.5 * (here.0 + back.0)), unknown * FRAC_1_SQRT_2)
            }
            None => (here, unknown),
        };
        let deviation = libm::hypot(unknown, self.packet.0);
        let others = 1.0 - of_beacons(self.outage);
        let [mut all, mut delivered, mut levels, mut squares] = [0.0; 4];
        for step in -STEPS..=STEPS {
            let change = f64::from(step) * STEP;
            let by = Db(change * deviation);
            let margin = read + by;
            let delivery = self.delivery_over(margin, Db(0.0));
            let beacon = beacon_delivery(delivery) * others;
            let counted = libm::pow(beacon, received) * libm::pow(1.0 - beacon, lost);
            let weight = self.ageing.weight(by) * libm::exp(-0.5 * change * change) * counted;
            all += weight;
            delivered += weight * delivery;
            levels += weight * margin.0;
            squares += weight * margin.0 * margin.0;
        }
        if all <= 0.0 {
            return quality;
        }
        let (prr, margin) = (delivered / all * (1.0 - self.steady_loss()), levels / all);
        let spread = (squares / all - margin * margin).max(0.0).sqrt();
        LinkQuality {
            prr,
            rssi: Some(self.register(self.floor + Db(margin), prr)),
            sent: quality.sent,
            unknown: Some(Db(spread)),
        }
    }
}

#[cfg(test)]
#[path = "doubt_tests.rs"]
mod tests;
