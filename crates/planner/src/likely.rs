//! Between which times a transfer is likely to end, by what a survey leaves open: two beacons of a link cannot tell .9 from 1.
//!
//! A link's level is known but for its own standard deviation; of a hop that deviates by as much as one in ten, either way,
//! the deliveries are those of the model. Hops deviate by themselves, so their logarithms add up as squares. Foreign frames
//! take as much on all of them: what the survey may have missed of these counts in full. Not modelled: links that change while
//! the transfer runs, but for paths hop by hop (`hop_route`). Tests: `likely_tests.rs`.

use crate::groups::Group;
use crate::link_model::LinkModel;
use crate::links::LinkQualities;
use crate::plan::Plan;
use crate::predict::{Feed, Likely};
use crate::request::Transfer;

/// No hop deviates below this share of what is expected of it.
const LEAST: f64 = 0.02;

impl Plan {
    /// This pipeline with the range of what is likely.
    pub(crate) fn with_range(
        mut self,
        links: &LinkQualities,
        model: &LinkModel,
        transfer: &Transfer,
    ) -> Self {
        let [low, high] = self.deviations(links, model);
        let known = &self.prediction;
        let foreign = (1.0 - model.outage_at_most) / (1.0 - model.steady_loss());
        let low = low * foreign.min(1.0).powi(self.hops as i32);
        let high = (known.first_round * high).min(1.0);
        let way = (self.feed, self.hops as u64);
        // The way back, on which a beacon was missed, may be as good as the way forth.
        let either = 1.0 - (1.0 - high).powi(known.group_delivery.len() as i32);
        let best = (high, known.exchange.max(either * either));
        let worst = (known.first_round * low, known.exchange * low);
        let [least, most] = [best, worst].map(|shares| known.times_as_long(shares, way, transfer));
        self.prediction.likely = Likely::times(known, [least.min(1.0), most.max(1.0)]);
        self
    }

    /// By which factors the share of packets that arrives in a round may be lower, and higher, where hops deviate by themselves.
    fn deviations(&self, links: &LinkQualities, model: &LinkModel) -> [f64; 2] {
        let groups = match self.feed {
            Feed::EveryCycle if self.hops > 1 => &Group::BOTH[..],
            _ => &Group::BOTH[..1],
        };
        // Both groups end at the same nodes, so they are taken to deviate alike.
        let of_group = |group: &Group| {
            let stages =
                (1..=self.hops).map(|stage| self.hop_deviation((stage, *group), links, model));
            let square = |factor: f64| libm::log(factor.max(LEAST)).powi(2);
            let sums = stages.fold([0.0; 2], |sums: [f64; 2], [low, high]| {
                [sums[0] + square(low), sums[1] + square(high)]
            });
            sums.map(f64::sqrt)
        };
        let each: Vec<[f64; 2]> = groups.iter().map(of_group).collect();
        let of = |end: usize| each.iter().map(|ends| ends[end]).sum::<f64>() / each.len() as f64;
        [libm::exp(-of(0)), libm::exp(of(1))]
    }

    /// By which factors the best link to `stage` of `group` may deliver less, and more.
    fn hop_deviation(
        &self,
        (stage, group): (usize, Group),
        links: &LinkQualities,
        model: &LinkModel,
    ) -> [f64; 2] {
        let relays = |at: usize| match at {
            0 => vec![self.source],
            _ if at == self.hops => vec![self.sink],
            _ => self.relays(at, group).collect(),
        };
        let Some(channel) = self.channel(stage, group) else {
            return [1.0; 2];
        };
        let receivers = relays(stage);
        let senders = relays(stage - 1);
        let pairs = senders
            .iter()
            .flat_map(|from| receivers.iter().map(move |to| (*from, *to)));
        let qualities = pairs.filter_map(|(from, to)| links.quality(from, to, channel));
        let best = qualities.max_by(|a, b| model.delivery(a).total_cmp(&model.delivery(b)));
        best.map_or([1.0; 2], |quality| model.extremes(&quality))
    }

    /// The same where it is left for `hops`, a path hop by hop, if it takes too long.
    pub(crate) fn left_for(mut self, hops: &Self) -> Self {
        let (Some(own), Some(other)) = (self.prediction.likely, hops.prediction.likely) else {
            return self;
        };
        let longest = self.left_after_s(Some(hops)) + other.time_s[1];
        let [shortest, most] = own.time_s;
        if let (true, Some(time_s)) = (longest < most, self.prediction.time_s) {
            let longest = longest.max(shortest);
            let known = &self.prediction;
            self.prediction.likely = Likely::times(known, [shortest / time_s, longest / time_s]);
            self.prediction = self.prediction.no_longer_than(longest);
        }
        self
    }
}

#[cfg(test)]
#[path = "likely_tests.rs"]
mod tests;
