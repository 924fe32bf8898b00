//! Burst forwarding on the first radio of the same nodes, over the path of the plan.

use super::dual::{air_bytes, Chain};
use super::{Ground, LinkReport, Observer, Onlookers, Outcome, StreamFailure, Terms};
use crate::transfer::Memory;
use std::sync::Arc;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::burst::{Burst, Command, Config, Event};
use thalweg_sim::Network;
use thalweg_units::{Channel, Duration, NodeId, Tuning};

/// Runs each plan alone, one after the other: a radio that is one node's only one carries one stream.
pub(super) fn run(
    ground: &Ground,
    plans: &[(StreamPlan, Vec<u8>)],
    terms: &Terms,
    seed: u64,
    observer: Observer<'_>,
    onlookers: &mut Onlookers,
) -> Result<Vec<Outcome>, StreamFailure> {
    let mut outcomes = Vec::new();
    for (plan, object) in plans {
        outcomes.push(one(ground, plan, object, terms, seed, observer, onlookers)?);
    }
    Ok(outcomes)
}

fn one(
    ground: &Ground,
    plan: &StreamPlan,
    object: &[u8],
    terms: &Terms,
    seed: u64,
    observer: Observer<'_>,
    onlookers: &mut Onlookers,
) -> Result<Outcome, StreamFailure> {
    let ids: Vec<NodeId> = ground.testbed.nodes.iter().map(|n| n.id).collect();
    let engines = (ids.iter())
        .map(|id| Burst::new(*id, Memory::default()))
        .collect();
    let board = [ground.board.clone()];
    let mut net = Network::new(ground.environment.clone(), &board, engines, seed)?;
    // A node is sent to on the channel of the link that leads to it.
    let channels = ground.on_one_radio(plan, ground.links());
    let own = |hop: usize| {
        let link = hop.checked_sub(1).and_then(|link| channels.get(link));
        link.copied().unwrap_or(Channel::LAST)
    };
    for (hop, node) in plan.nodes.iter().enumerate() {
        let next = plan.nodes.get(hop + 1).map(|n| (ids[*n], own(hop + 1)));
        let config = Config {
            own: own(hop),
            next,
            burst: terms.config.queue,
            wake_interval: terms.config.wake_interval,
            wake_time: terms.config.wake_time,
            ack_timeout: terms.config.ack_timeout,
            attempts: 4,
            patience: 16,
            silence: Duration::from_millis(50),
            payload_bytes: terms.payload_bytes,
        };
        net.command(*node, Command::Join(config));
    }
    let sent_on = StreamPlan {
        nodes: plan.nodes.clone(),
        links: channels.iter().copied().map(Tuning::Ghz2_4).collect(),
    };
    onlookers.attach(&mut net, ground, terms.carrier.name(), &sent_on)?;
    let source = plan.nodes.first().copied().unwrap_or(0);
    let store = net.engine_mut(source).store_mut();
    store.offer(Arc::from(object));
    let chain = Chain {
        plan,
        object,
        terms,
        air_bytes: air_bytes(terms),
    };
    let packets = chain.packets();
    let send = Command::Send(packets as u16);
    let mut outcome = chain.follow(&mut net, send, observer, |event| match event {
        Event::Received { number } => Some(number),
        Event::Dropped { .. } => None,
    })?;
    let sink = plan.nodes.last().copied().unwrap_or(0);
    let bytes = net.engine_mut(sink).store_mut().take(object.len());
    outcome.verified = bytes == object;
    outcome.links = (plan.nodes.windows(2).enumerate())
        .map(|(hop, pair)| {
            let counts = net.engine(pair[0]).counts();
            LinkReport {
                from: ids[pair[0]].get(),
                to: ids[pair[1]].get(),
                on: format!("2.4G:{}", own(hop + 1)),
                sent: counts.sent,
                retransmissions: counts.retransmissions,
                unacknowledged: counts.dropped,
                overflows: 0,
                withheld: 0,
                duplicates: counts.duplicates,
                queue_peak: u32::from(counts.queue_peak),
                queue_mean: f64::from(counts.queue_peak) / 2.0,
            }
        })
        .collect();
    Ok(outcome)
}
