//! The delivery of a link in a coming transfer, from its measurements.
//!
//! Ten beacons of ten cannot tell a link at the edge of sensitivity from a strong one; the received
//! power can. Power varies from packet to packet, has moved since the survey, and receivers differ:
//! all normal in decibels, so the chance of a frame is a normal integral over the margin. What was
//! counted corrects it. Other senders of the pipeline raise the floor. Tests: `link_model_tests.rs`.

use crate::ageing::Ageing;
use crate::beating::{self, Lead};
use crate::links::{Hop, LinkQualities, LinkQuality};
use crate::topology::LinkRule;
use std::f64::consts::SQRT_2;
use thalweg_units::{Channel, ChannelSet, Db, Dbm};

/// Margin over the effective floor at which half of the longest frames arrive (127 B at -96.6 dBm
/// where the floor is -95.5; IEEE 802.15.4-2006, E.4.1).
const HALF_AT_DB: f64 = -1.1;
/// Standard deviation of the normal law that follows a frame's reception around that margin.
const KNEE_DB: f64 = 0.8;
/// How much an interferer counts against noise of the same power: chips of O-QPSK are not noise. A frame at the data
/// sheet's sensitivity, half a decibel above the effective floor, loses 1 %; against an interferer it needs the data
/// sheet's co-channel rejection of 3 dB for the same.
const INTERFERENCE_WEIGHT: f64 = 1.78;
/// Standard normal quantiles.
pub(crate) const QUANTILE_90: f64 = 1.282;
const QUANTILE_99: f64 = 2.326;
/// Shifts of the strongest sender's lead in standard deviations, with their weights (Gauss-Hermite).
const SHIFTS: [(f64, f64); 5] = [
    (-2.857, 0.0113),
    (-1.356, 0.2221),
    (0.0, 0.5332),
    (1.356, 0.2221),
    (2.857, 0.0113),
];

/// Interference from beside the channel that a transfer puts up with, as a multiple of the floor: links
/// have about as much to spare, and the loss costs less than idle sinks.
const QUIET: f64 = 4.0;

/// Strong links lose up to this share of their frames in bursts.
const BURSTS: f64 = 0.05;

/// Changes of a link that are averaged over, in standard deviations: so many steps to either side, of this size.
const CHANGES: i32 = 16;
const CHANGE_STEP: f64 = 0.25;

/// Probability that of `frames` frames fewer than `enough` arrive, each with `delivery`.
pub(crate) fn fewer_than(enough: u32, frames: u32, delivery: f64) -> f64 {
    let (mut ways, mut sum) = (1.0, 0.0);
    for arrived in 0..enough.min(frames + 1) {
        let lost = f64::from(frames - arrived);
        sum += ways * libm::pow(delivery, f64::from(arrived)) * libm::pow(1.0 - delivery, lost);
        ways *= lost / f64::from(arrived + 1);
    }
    sum
}

/// How a radio receives, and how far a survey can be trusted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkModel {
    /// Effective noise floor, demodulator loss included.
    pub floor: Dbm,
    /// Noise that the RSSI register sees with no signal; it is part of every RSSI.
    pub register_noise: Dbm,
    /// Standard deviation of received power from packet to packet.
    pub packet: Db,
    /// Standard deviation of a link's mean in the coming run: its change since the survey, the receiver's
    /// floor and RSSI error. A link may have its own ([`LinkQuality::unknown`]).
    pub unknown: Db,
    /// How links may have changed beyond that since a single survey. It counts for the chance of a degraded hop, not for delivery.
    pub ageing: Ageing,
    /// Share of long frames that are lost however strong the link: others use the channel.
    pub outage: f64,
    /// The most of it that nine of ten surveys with such counts may stand for.
    pub outage_at_most: f64,
    /// How many frames the margin counts for beside the frames that were counted.
    pub prior_frames: f64,
    /// What is left of a sender one channel above, one below, and farther away.
    pub leak: [Db; 3],
}

impl LinkModel {
    /// A CC2420 at an unknown site: floor and adjacent channels as of the data sheet (see
    /// [`LinkRule::CC2420_FLOOR`]), and as much spread as links change by in hours (the traces in `docs/radio-model.md`:
    /// 0.9 to 2.9 dB). [`LinkModel::learned`] fits a survey.
    pub const UNKNOWN: Self = Self {
        floor: LinkRule::CC2420_FLOOR,
        register_noise: Dbm(-99.2),
        packet: Db(2.0),
        unknown: Db(2.0),
        ageing: Ageing::NONE,
        outage: 0.0,
        outage_at_most: 0.0,
        prior_frames: 30.0,
        leak: [Db(-46.0), Db(-31.0), Db(-54.0)],
    };

    /// Probability that a long frame arrives whose mean power lies `margin` above the floor.
    pub fn delivery_at(&self, margin: Db) -> f64 {
        self.delivery_over(margin, self.unknown)
    }
    /// The same of a link whose mean has the standard deviation `unknown`.
    pub(crate) fn delivery_over(&self, margin: Db, unknown: Db) -> f64 {
        let (packet, unknown) = (self.packet.0, unknown.0);
        let spread = (packet * packet + unknown * unknown + KNEE_DB * KNEE_DB).sqrt();
        0.5 * libm::erfc(-(margin.0 - HALF_AT_DB) / (spread * SQRT_2))
    }
    /// Standard deviation of the mean of a link of this quality.
    pub(crate) fn unknown_of(&self, quality: &LinkQuality) -> Db {
        quality.unknown.unwrap_or(self.unknown)
    }
    /// Probability that a long frame arrives over a link, from its margin and the beacons that were counted.
    pub fn delivery(&self, quality: &LinkQuality) -> f64 {
        let margin = self.power(quality).map(|power| power - self.floor);
        match (margin, quality.sent) {
            (Some(margin), Some(sent)) => {
                let (sent, prior) = (f64::from(sent), self.prior_frames);
                let expected = self.delivery_over(margin, self.unknown_of(quality));
                let expected = expected * (1.0 - self.steady_loss());
                (expected * prior + quality.prr * sent) / (prior + sent)
            }
            // A ratio of an unknown number of frames is taken as it is.
            (_, None) => quality.prr,
            (None, Some(sent)) => (quality.prr * f64::from(sent) + 0.5) / (f64::from(sent) + 1.0),
        }
    }
    /// The share of frames that every link loses. Bursts take a few per cent of what strong links carry, all at once, and a
    /// round makes up for them; more than that is lost all the time.
    pub(crate) fn steady_loss(&self) -> f64 {
        match self.outage > BURSTS {
            true => self.outage,
            false => 0.0,
        }
    }
    /// By which factors a link of this quality may deliver less, and more, than its level says: one link in ten either way.
    pub(crate) fn extremes(&self, quality: &LinkQuality) -> [f64; 2] {
        let Some(power) = self.power(quality) else {
            return [1.0; 2];
        };
        let (margin, unknown) = (power - self.floor, self.unknown_of(quality));
        let expected = self.delivery_over(margin, unknown).max(1e-6);
        let by = Db(QUANTILE_90 * unknown.0);
        [margin - by, margin + by].map(|margin| self.delivery_over(margin, Db(0.0)) / expected)
    }
    /// The mean of `of`, a function of a link's delivery, over all changes since the survey: of a link whose mean power lay
    /// `margin` above the floor with the standard deviation `unknown`, and which has aged so.
    fn over_changes(
        &self,
        margin: Db,
        (unknown, ageing): (Db, &Ageing),
        of: impl Fn(f64) -> f64,
    ) -> f64 {
        let (mut all, mut sum) = (0.0, 0.0);
        for (share, deviation) in ageing.deviations(unknown) {
            for step in -CHANGES..=CHANGES {
                let change = f64::from(step) * CHANGE_STEP;
                let by = Db(change * deviation.0);
                let weight = share * ageing.weight(by) * libm::exp(-0.5 * change * change);
                // Given its change, a link has its packets' spread alone.
                let delivery = self.delivery_over(margin + by, Db(0.0));
                all += weight;
                sum += weight * of(delivery);
            }
        }
        sum / all
    }
    /// The highest mean power that a survey's beacons may have missed: that with which half of the long frames arrive.
    pub fn unheard(&self) -> Dbm {
        self.floor + Db(HALF_AT_DB)
    }
    /// The margin with which nine of ten links have a ratio of .99 or more.
    pub fn sure_margin(&self) -> Db {
        let spread = (self.packet.0 * self.packet.0 + KNEE_DB * KNEE_DB).sqrt();
        Db(HALF_AT_DB + QUANTILE_99 * spread + QUANTILE_90 * self.unknown.0)
    }
    /// Mean power of a link without the register's own noise, where an RSSI is known.
    pub fn power(&self, quality: &LinkQuality) -> Option<Dbm> {
        // Only what was received has an RSSI: where much was lost, the mean is lower than it says.
        let lost = (1.0 - quality.prr).clamp(0.0, 1.0);
        Some(self.heard(quality)? - Db(lost * 2.0))
    }
    /// The same of what was received alone.
    pub(crate) fn heard(&self, quality: &LinkQuality) -> Option<Dbm> {
        let rssi = quality.rssi?.milliwatts().0;
        let least = self.register_noise.milliwatts().0 * 0.1;
        let power = (rssi - self.register_noise.milliwatts().0).max(least);
        Some(Dbm(10.0 * libm::log10(power)))
    }
    fn leak_factor(&self, tuned: Channel, sent: Channel) -> f64 {
        let [above, below, far] = self.leak;
        match i32::from(sent.number()) - i32::from(tuned.number()) {
            0 => 1.0,
            1 => above.factor(),
            -1 => below.factor(),
            _ => far.factor(),
        }
    }
}

impl Default for LinkModel {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

/// One directed link on one channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reach {
    /// Probability that a long frame arrives with nothing else on the air.
    pub(crate) delivery: f64,
    /// Mean power in milliwatts, where known.
    pub(crate) power: Option<f64>,
    /// Standard deviation of that.
    pub(crate) unknown: Db,
}

/// A table of [`Reach`] over all links of some channels.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    nodes: usize,
    model: LinkModel,
    floor_mw: f64,
    rows: Vec<Vec<Vec<(usize, Reach)>>>,
}

impl Expected {
    pub(crate) fn new(links: &LinkQualities, channels: ChannelSet, model: &LinkModel) -> Self {
        let reach = |quality: &LinkQuality| {
            let power = model.power(quality);
            Reach {
                delivery: model.delivery(quality),
                power: power.map(|power| power.milliwatts().0),
                unknown: model.unknown_of(quality),
            }
        };
        let row = |from: usize, channel: Channel| {
            let heard = links.heard_from(from, channel);
            let heard = heard.filter(|(_, quality)| quality.prr > 0.0);
            heard.map(|(to, quality)| (to, reach(&quality))).collect()
        };
        let rows = |channel: Channel| match channels.contains(channel) {
            true => (0..links.nodes()).map(|from| row(from, channel)).collect(),
            false => Vec::new(),
        };
        Self {
            nodes: links.nodes(),
            model: *model,
            floor_mw: model.floor.milliwatts().0,
            rows: Channel::all().map(rows).collect(),
        }
    }
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }
    /// What `from` reaches on `channel`, lowest index first.
    pub(crate) fn reached(&self, from: usize, channel: Channel) -> &[(usize, Reach)] {
        let row = self.rows[channel.index()].get(from);
        row.map_or(&[], Vec::as_slice)
    }
    pub(crate) fn link(&self, from: usize, to: usize, channel: Channel) -> Option<&Reach> {
        let row = self.reached(from, channel);
        let at = row.binary_search_by_key(&to, |(to, _)| *to).ok()?;
        Some(&row[at].1)
    }
    /// Changes the delivery of `hop`. A link that was never heard stays unheard.
    pub(crate) fn change(&mut self, hop: Hop, change: impl FnOnce(f64) -> f64) {
        let row = self.rows[hop.channel.index()].get_mut(hop.from);
        let reach = row.and_then(|row| {
            let at = row.binary_search_by_key(&hop.to, |(to, _)| *to).ok()?;
            row.get_mut(at)
        });
        if let Some((_, reach)) = reach {
            reach.delivery = change(reach.delivery).clamp(0.0, 1.0);
        }
    }
    /// Changes the delivery of every link.
    pub(crate) fn change_all(&mut self, change: impl Fn(f64) -> f64) {
        for (_, reach) in self.rows.iter_mut().flatten().flatten() {
            reach.delivery = change(reach.delivery).clamp(0.0, 1.0);
        }
    }
    /// Removes all links of `nodes`.
    pub(crate) fn forget(&mut self, nodes: &[usize]) {
        for (from, row) in (self.rows.iter_mut()).flat_map(|table| table.iter_mut().enumerate()) {
            let is_gone = nodes.contains(&from);
            row.retain(|(to, _)| !is_gone && !nodes.contains(to));
        }
    }
    /// Power of `from` at `to` where `to` listens to `tuned` and `from` sends on `sent`, in
    /// milliwatts; nothing where nothing was heard.
    pub(crate) fn interference(
        &self,
        from: usize,
        to: usize,
        tuned: Channel,
        sent: Channel,
    ) -> f64 {
        let power = self.link(from, to, sent).and_then(|reach| reach.power);
        power.map_or(0.0, |power| power * self.model.leak_factor(tuned, sent))
    }
    /// Whether `from`, sending on `sent`, reaches `to` where that listens to the same channel, or raises its floor by more
    /// than [`QUIET`] where it listens to `tuned`. A node that was heard on any channel reaches on all of them: a few beacons
    /// missed on one are no proof that its data raise no floor there.
    pub(crate) fn disturbs(&self, from: usize, to: usize, tuned: Channel, sent: Channel) -> bool {
        match tuned == sent {
            true => Channel::all().any(|channel| self.link(from, to, channel).is_some()),
            false => self.interference(from, to, tuned, sent) > QUIET * self.floor_mw,
        }
    }
    /// The mean of `of`, a function of the delivery of `hop`, over all levels that it may have had when it was surveyed.
    pub(crate) fn as_surveyed(&self, hop: Hop, of: impl Fn(f64) -> f64) -> f64 {
        self.over_unknown(hop, &Ageing::NONE, of)
    }
    /// By how much `interference` milliwatts raise the floor.
    fn rise(&self, interference: f64) -> Db {
        let risen = 1.0 + INTERFERENCE_WEIGHT * interference / self.floor_mw;
        Db(10.0 * libm::log10(risen))
    }
    fn over_unknown(&self, hop: Hop, ageing: &Ageing, of: impl Fn(f64) -> f64) -> f64 {
        match self.link(hop.from, hop.to, hop.channel) {
            None => of(0.0),
            Some(Reach {
                power: Some(power),
                unknown,
                ..
            }) => {
                let margin = Db(10.0 * libm::log10(power / self.floor_mw));
                self.model.over_changes(margin, (*unknown, ageing), of)
            }
            Some(Reach { delivery, .. }) => of(*delivery),
        }
    }
    /// Probability that of `frames` frames over `hop` fewer than `enough` arrive: it has become weaker, or a burst takes them.
    pub(crate) fn degraded(&self, hop: Hop, (frames, enough): (u32, u32)) -> f64 {
        let weak = self.over_unknown(hop, &self.model.ageing, |delivery| {
            fewer_than(enough, frames, delivery)
        });
        1.0 - (1.0 - weak) * (1.0 - self.model.outage)
    }
    /// Probability that a frame of `from` alone arrives at `to` against `interference` milliwatts.
    pub(crate) fn alone(&self, reach: &Reach, interference: f64) -> f64 {
        let (Some(power), true) = (reach.power, interference > 0.0) else {
            return reach.delivery;
        };
        let margin = Db(10.0 * libm::log10(power / self.floor_mw));
        let quiet = self.model.delivery_over(margin, reach.unknown);
        let less = margin - self.rise(interference);
        let loud = self.model.delivery_over(less, reach.unknown);
        match quiet > 0.0 {
            true => reach.delivery * loud / quiet,
            false => 0.0,
        }
    }
    /// Probability that a frame that `senders` send in step on `channel` arrives at `to`, where
    /// `interference` milliwatts of other frames arrive with it.
    pub(crate) fn together(
        &self,
        senders: &[usize],
        to: usize,
        channel: Channel,
        interference: f64,
    ) -> f64 {
        let (mut missed, mut count, mut unknown) = (1.0, 0usize, 0usize);
        for &from in senders {
            let Some(reach) = self.link(from, to, channel) else {
                continue;
            };
            missed *= 1.0 - self.alone(reach, interference);
            match reach.power {
                Some(_) => count += 1,
                None => unknown += usize::from(reach.delivery >= 0.1),
            }
        }
        if count + unknown < 2 {
            return 1.0 - missed;
        }
        if unknown > 0 {
            return (1.0 - missed) * beating::survival(&[], count + unknown);
        }
        let power = |&from: &usize| self.link(from, to, channel)?.power;
        let powers = senders.iter().filter_map(power);
        (1.0 - missed) * Lead::of(powers).map_or(1.0, |lead| self.survival(&lead))
    }
    /// Survival of beats over what is not known of the strongest sender's lead.
    fn survival(&self, lead: &Lead) -> f64 {
        let (packet, run) = (self.model.packet.0, self.model.unknown.0);
        let spread = (2.0 * (packet * packet + run * run)).sqrt();
        let share = |(shift, weight)| weight * lead.survival(shift * spread);
        SHIFTS.into_iter().map(share).sum()
    }
}

#[cfg(test)]
#[path = "link_model_tests.rs"]
mod tests;
