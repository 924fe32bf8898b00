//! What the transfers of a wave leave to others: the nodes without a part in it, and those links among them
//! whose data would neither disturb the wave nor be disturbed (P3 has no such case).
//! Not modelled: NACKs, which are short and few. Tests: tests/all/waves.rs.

use super::by_stage;
use crate::link_model::Expected;
use crate::links::LinkQualities;
use crate::plan::Plan;
use thalweg_units::{Channel, ChannelSet};

/// Which nodes the data of a wave's transfers disturb, and which would disturb it, on the same channel or from the one
/// beside it.
#[derive(Default)]
pub(super) struct Earshot {
    /// By node: the channels on which it hears a sender of data.
    deafened: Vec<ChannelSet>,
    /// By node: the channels on which a listener would hear it.
    deafening: Vec<ChannelSet>,
}

impl Earshot {
    pub(super) fn new(expected: &Expected, channels: &[Channel], plans: &[Plan]) -> Self {
        let nothing = vec![ChannelSet::EMPTY; expected.nodes()];
        let (mut deafened, mut deafening) = (nothing.clone(), nothing);
        for plan in plans {
            let stages = by_stage(plan);
            for (stage, &used) in plan.channels.iter().enumerate() {
                // At stage 0 the source listens, for NACKs.
                let senders = stage.checked_sub(1).map_or(&[][..], |s| &stages[s]);
                for &channel in channels {
                    for node in 0..expected.nodes() {
                        let hears = |&from: &usize| expected.disturbs(from, node, channel, used);
                        if senders.iter().any(hears) {
                            deafened[node] = deafened[node].with(channel);
                        }
                        let heard = |&to: &usize| expected.disturbs(node, to, used, channel);
                        if stages[stage].iter().any(heard) {
                            deafening[node] = deafening[node].with(channel);
                        }
                    }
                }
            }
        }
        Self {
            deafened,
            deafening,
        }
    }
    /// Whether data from one node to another would be disturbed, or disturb.
    pub(super) fn disturbs(&self, from: usize, to: usize, channel: Channel) -> bool {
        let on = |set: Option<&ChannelSet>| set.is_some_and(|set| set.contains(channel));
        on(self.deafened.get(to)) || on(self.deafening.get(from))
    }
}

/// The links on `channels` among nodes that are not `taken`.
pub(super) fn without(
    links: &LinkQualities,
    channels: &[Channel],
    taken: impl Fn(usize) -> bool,
) -> LinkQualities {
    free_links(links, channels, taken, |_, _, _| false)
}

/// The same without those that are `barred`.
pub(super) fn free_links(
    links: &LinkQualities,
    channels: &[Channel],
    taken: impl Fn(usize) -> bool,
    barred: impl Fn(usize, usize, Channel) -> bool,
) -> LinkQualities {
    let mut free = LinkQualities::new(links.nodes());
    if let Some(places) = links.places() {
        // One place for each node, as before.
        let _ = free.set_places(places.to_vec());
    }
    for channel in channels.iter().copied().collect::<ChannelSet>().iter() {
        for from in (0..links.nodes()).filter(|&node| !taken(node)) {
            for (to, quality) in links.heard_from(from, channel) {
                if taken(to) || barred(from, to, channel) {
                    continue;
                }
                // What was recorded once can be recorded again.
                let _ = match quality.sent {
                    Some(sent) => {
                        let received = (quality.prr * f64::from(sent)).round() as u32;
                        free.record(from, to, channel, received, sent, quality.rssi)
                    }
                    None => free.record_prr(from, to, channel, quality.prr, quality.rssi),
                };
            }
        }
    }
    free
}
