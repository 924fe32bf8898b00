//! PIP on the boards and with the software that it was published on: one CC2420, one copy in and one
//! out per hop.
//!
//! A packet takes two of PIP's slots at every relay, one to come in and one to go out. What a slot must
//! hold follows from the board: half of reading, passing up, writing, strobing and twice a frame's time
//! on the air. Sources are paced by it; channels differ from hop to hop. PIP's rounds of repair are
//! left out, as the paper compares throughput. Tests: `crates/lab/tests/streams/`.

use super::dual::Chain;
use super::ground::Links;
use super::{Ground, LinkReport, Observer, Outcome, StreamFailure, Terms};
use crate::transfer::Memory;
use std::sync::Arc;
use thalweg_engine::Cca;
use thalweg_medium::Environment;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::forward::{
    Command, Config, Event, Exits, Forwarder, Forwarding, Origin, Role,
};
use thalweg_sim::{boards, Board, Network};
use thalweg_units::{Channel, Duration, NodeId};
use thalweg_wire::{forward, phy};

pub(super) fn run(
    ground: &Ground,
    plans: &[(StreamPlan, Vec<u8>)],
    terms: &Terms,
    seed: u64,
    observer: Observer<'_>,
) -> Result<Vec<Outcome>, StreamFailure> {
    let board = boards::load("telosb-contiki")?;
    let unfit = || StreamFailure::Unfit {
        testbed: ground.testbed.name.clone(),
        why: "PIP's boards are simulated where nodes are placed".to_owned(),
    };
    let mut environment = (ground.testbed)
        .realise_with(board.chip, ground.seed)
        .ok_or_else(unfit)?;
    let psdu = forward::HEADER_BYTES + usize::from(terms.payload_bytes) + phy::FCS_BYTES;
    for loss in ground.losses() {
        let ear = |id: NodeId| {
            ground
                .testbed
                .index_of(id)
                .map(|n| thalweg_medium::EarId(n as u32))
        };
        if let (Some(from), Some(to)) = (ear(loss.from), ear(loss.to)) {
            environment = environment.with_loss(from, to, loss.share, psdu);
        }
    }
    let environment = Arc::new(environment);
    let mut outcomes = Vec::new();
    for (plan, object) in plans {
        let site = (ground, environment.clone(), &board);
        outcomes.push(one(site, plan, object, terms, seed, observer)?);
    }
    Ok(outcomes)
}

/// The length of two slots: from one packet of a relay to its next.
pub(super) fn two_slots(board: &Board, payload_bytes: u8) -> Duration {
    let bytes = forward::HEADER_BYTES + usize::from(payload_bytes);
    let (timing, air) = (board.timing, phy::air_time(bytes));
    let costs = match board.timing.software {
        thalweg_sim::Software::Serial(costs) => costs,
        thalweg_sim::Software::Overlapped => thalweg_sim::Costs::NOTHING,
    };
    let read = costs.read_base + costs.read_byte * bytes as u64;
    let write = timing.load_base + timing.load_byte * bytes as u64;
    // In, read, up, written, strobed, out, and back on the channel before.
    let software = timing.event_latency + read + costs.os + write + costs.strobe;
    air * 2 + software + timing.turnaround * 2 + costs.retune * 2
}

fn one(
    (ground, environment, board): (&Ground, Arc<Environment>, &Board),
    plan: &StreamPlan,
    object: &[u8],
    terms: &Terms,
    seed: u64,
    observer: Observer<'_>,
) -> Result<Outcome, StreamFailure> {
    let ids: Vec<NodeId> = ground.testbed.nodes.iter().map(|n| n.id).collect();
    let engines = (ids.iter())
        .map(|id| Forwarder::new(*id, Memory::default()))
        .collect();
    let site = environment.clone();
    let mut net = Network::new(site, std::slice::from_ref(board), engines, seed)?;
    let known = Links::of(&environment, ids.len(), std::slice::from_ref(board));
    let channels = ground.on_one_radio(plan, &known);
    let own = |hop: usize| {
        let link = hop.checked_sub(1).and_then(|link| channels.get(link));
        link.copied().unwrap_or(Channel::LAST)
    };
    let hops = plan.nodes.len().saturating_sub(1);
    for (hop, node) in plan.nodes.iter().enumerate() {
        let before = hop.checked_sub(1).and_then(|h| plan.nodes.get(h));
        let config = Config {
            role: match hop {
                0 => Role::End,
                h if h == hops => Role::End,
                _ => Role::Relay,
            },
            previous: [before.map(|n| ids[*n]), None],
            origin: Origin::Header,
            listen: own(hop),
            exits: Exits::One(own(hop + 1)),
            forwarding: Forwarding::Copying,
            cca: Cca::Skip,
            hold: Duration::from_secs(1),
            payload_bytes: terms.payload_bytes,
        };
        net.command(*node, Command::Join(config));
    }
    let source = plan.nodes.first().copied().unwrap_or(0);
    let store = net.engine_mut(source).store_mut();
    store.offer(Arc::from(object));
    let air = phy::air_time(forward::HEADER_BYTES + usize::from(terms.payload_bytes));
    let chain = Chain {
        plan,
        object,
        terms,
        air_bytes: (air.as_nanos() / phy::BYTE.as_nanos()) as u32,
    };
    let send = Command::Send {
        first: 0,
        packets: chain.packets() as u16,
        payload_bytes: terms.payload_bytes,
        after: Duration::ZERO,
        interval: two_slots(board, terms.payload_bytes),
    };
    let mut outcome = chain.follow(&mut net, send, observer, |event| match event {
        Event::Received { number, .. } => Some(number),
        Event::Dropped { .. } | Event::SentAll => None,
    })?;
    let sink = plan.nodes.last().copied().unwrap_or(0);
    let bytes = net.engine_mut(sink).store_mut().take(object.len());
    outcome.verified = bytes == object;
    outcome.links = (plan.nodes.windows(2).enumerate())
        .map(|(hop, pair)| LinkReport {
            from: ids[pair[0]].get(),
            to: ids[pair[1]].get(),
            on: format!("2.4G:{}", own(hop + 1)),
            sent: 0,
            retransmissions: 0,
            unacknowledged: 0,
            overflows: 0,
            withheld: 0,
            duplicates: 0,
            queue_peak: 0,
            queue_mean: 0.0,
        })
        .collect();
    Ok(outcome)
}
