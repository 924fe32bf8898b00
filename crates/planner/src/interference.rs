//! How frames fare over a whole plan: every stage sends in every cycle, so a receiver hears its own
//! stage's senders against all others of the same cycle, each on its channel.
//!
//! In the cycle in which stage k receives for group g, stage j sends for g where j and k - 1 are
//! both even or both odd, else for the other group. All members of a sending stage are taken to speak:
//! never less interference than there is. NACKs travel alone. Tests: `interference_tests.rs`.

use crate::channels::StageChannels;
use crate::link_model::Expected;

/// Members of one group: source, relays stage by stage, sink.
pub(crate) type Stages = Vec<Vec<usize>>;

/// Who is where, on which channel stage k receives, and what disturbs whom.
pub(crate) struct Layout<'a> {
    expected: &'a Expected,
    channels: StageChannels<'a>,
    /// Per group and stage: receivers and the interference at each, in milliwatts.
    disturbed: Vec<Vec<Vec<(usize, f64)>>>,
}

impl<'a> Layout<'a> {
    /// `groups` are one or two, each from source to sink.
    pub(crate) fn new(
        expected: &'a Expected,
        groups: &[Stages],
        channels: StageChannels<'a>,
    ) -> Self {
        let heard = |place, to| (to, interference(expected, groups, channels, place, to));
        let group = |(group, stages): (usize, &Stages)| {
            let stages = stages.iter().enumerate();
            stages
                .map(|(stage, nodes)| nodes.iter().map(|&to| heard((group, stage), to)).collect())
                .collect()
        };
        Self {
            disturbed: groups.iter().enumerate().map(group).collect(),
            ..Self::quiet(expected, channels)
        }
    }
    /// The same where stages do not disturb each other.
    pub(crate) fn quiet(expected: &'a Expected, channels: StageChannels<'a>) -> Self {
        Self {
            expected,
            channels,
            disturbed: Vec::new(),
        }
    }
}

/// What `to`, of the group and stage `place`, hears of the other stages' senders, in milliwatts.
pub(crate) fn interference(
    expected: &Expected,
    groups: &[Stages],
    channels: StageChannels<'_>,
    (group, stage): (usize, usize),
    to: usize,
) -> f64 {
    let Some(tuned) = channels.of(group, stage) else {
        return 0.0;
    };
    let mut sum = 0.0;
    for sending in 0..channels.hops() {
        let same = (sending + 1 + stage) % 2 == 0;
        if sending + 1 == stage || (groups.len() == 1 && !same) {
            continue;
        }
        let other = groups.len() - 1 - group;
        let speaking = if same { group } else { other };
        let members = groups.get(speaking).and_then(|g| g.get(sending));
        let Some(sent) = channels.of(speaking, sending + 1) else {
            continue;
        };
        sum += (members.into_iter().flatten())
            .filter(|&&from| from != to)
            .map(|&from| expected.interference(from, to, tuned, sent))
            .sum::<f64>();
    }
    sum
}

impl Layout<'_> {
    /// Probability that a frame which `senders` of `stage - 1` send in step to `group` arrives at `to`, of `stage`. Stages
    /// count from the source, 0..=H.
    pub(crate) fn forward(&self, group: usize, stage: usize, senders: &[usize], to: usize) -> f64 {
        let channel = self.channels.of(group, stage);
        let Some(channel) = channel.filter(|_| !senders.is_empty()) else {
            return 0.0;
        };
        let around = self.disturbed.get(group).and_then(|g| g.get(stage));
        let here = around.and_then(|members| members.iter().find(|(node, _)| *node == to));
        let interference = here.map_or(0.0, |(_, power)| *power);
        self.expected.together(senders, to, channel, interference)
    }
    /// The same from `stage + 1` to `stage`, for NACKs.
    pub(crate) fn backward(&self, group: usize, stage: usize, senders: &[usize], to: usize) -> f64 {
        let channel = self.channels.of(group, stage);
        channel.map_or(0.0, |on| self.expected.together(senders, to, on, 0.0))
    }
}

#[cfg(test)]
#[path = "interference_tests.rs"]
mod tests;
