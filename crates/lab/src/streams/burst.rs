//! Burst forwarding on the first radio of the same nodes, over the path of the plan.

use super::dual::{air_bytes, BEFORE};
use super::one_radio::OneRadio;
use super::{arrived, Ground, Onlookers, Outcome, StreamFailure, Terms};
use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;
use thalweg_gateway::job::Watch;
use thalweg_gateway::object::Memory;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::burst::{Burst, Command, Config, Event};
use thalweg_sim::Network;
use thalweg_units::{Duration, SimTime, Tuning};

/// Runs each plan alone, one after the other: a radio that is one node's only one carries one stream.
pub(super) fn run(
    ground: &Ground,
    plans: &[(StreamPlan, Vec<u8>)],
    terms: &Terms,
    seed: u64,
    observer: Watch<'_>,
    onlookers: &mut Onlookers,
) -> Result<Vec<Outcome>, StreamFailure> {
    let mut outcomes = Vec::new();
    for (plan, object) in plans {
        let path = OneRadio::new(ground, (plan, object), terms, ground.links());
        outcomes.push(one(ground, &path, seed, observer, onlookers)?);
    }
    Ok(outcomes)
}

/// A path over which nothing arrives for so long has nothing more to give.
const PATIENCE: Duration = Duration::from_secs(4);

fn one(
    ground: &Ground,
    path: &OneRadio<'_>,
    seed: u64,
    observer: Watch<'_>,
    onlookers: &mut Onlookers,
) -> Result<Outcome, StreamFailure> {
    let (nodes, terms) = (&path.plan.nodes, path.terms);
    let engines = (path.ids.iter())
        .map(|id| Burst::new(*id, Memory::default()))
        .collect();
    let board = [ground.site.board.clone()];
    let mut net = Network::new(ground.site.environment.clone(), &board, engines, seed)?;
    for (hop, node) in nodes.iter().enumerate() {
        let next = nodes.get(hop + 1);
        let config = Config {
            own: path.own(hop),
            next: next.map(|n| (path.ids[*n], path.own(hop + 1))),
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
        nodes: nodes.clone(),
        links: path
            .channels()
            .iter()
            .copied()
            .map(Tuning::Ghz2_4)
            .collect(),
    };
    onlookers.attach(&mut net, ground, terms.carrier.name(), &sent_on)?;
    let source = nodes.first().copied().unwrap_or(0);
    let store = net.engine_mut(source).store_mut();
    store.offer(Arc::from(path.object));
    let mut outcome = follow(path, &mut net, observer)?;
    let sink = nodes.last().copied().unwrap_or(0);
    let bytes = net.engine_mut(sink).store_mut().take(path.object.len());
    outcome.verified = bytes == path.object;
    outcome.object = Some(bytes).filter(|_| outcome.verified);
    outcome.links = path.links(|hop, report| {
        let counts = net.engine(nodes[hop]).counts();
        report.sent = counts.sent;
        report.retransmissions = counts.retransmissions;
        report.unacknowledged = counts.dropped;
        report.duplicates = counts.duplicates;
        report.queue_peak = u32::from(counts.queue_peak);
        report.queue_mean = f64::from(counts.queue_sum) / f64::from(counts.taken.max(1));
    });
    Ok(outcome)
}

/// Lets the source begin once the nodes are asleep, and sees what arrives.
fn follow(
    path: &OneRadio<'_>,
    net: &mut Network<Burst<Memory>>,
    observer: Watch<'_>,
) -> Result<Outcome, StreamFailure> {
    let (nodes, air_bytes) = (&path.plan.nodes, air_bytes(path.terms));
    net.run_until(SimTime::ZERO + BEFORE, |_, _, _| Continue(()))?;
    let before: Vec<f64> = nodes.iter().map(|n| net.joules(*n)).collect();
    let begun = net.now();
    let (source, sink) = (nodes.first().copied(), nodes.last().copied());
    net.command(source.unwrap_or(0), Command::Send(path.packets() as u16));
    let mut have = vec![false; path.packets()];
    let (mut repeated, mut received, mut last, mut stopped) = (0, 0u32, begun, false);
    let deadline = begun + path.terms.deadline;
    while (received as usize) < have.len() && net.now() < deadline && !stopped {
        let until = (net.now() + PATIENCE).min(deadline);
        let (came_before, packets) = (received, have.len() as u32);
        net.run_until(until, |at, node, event| {
            let number = match event {
                Event::Received { number } => Some(number),
                Event::Dropped { .. } => None,
            };
            let Some(number) = number.filter(|_| Some(node) == sink) else {
                return Continue(());
            };
            match have.get_mut(usize::from(number)) {
                Some(have) if !*have => *have = true,
                _ => {
                    repeated += 1;
                    return Continue(());
                }
            }
            received += 1;
            last = at;
            let progress = arrived(1, received, air_bytes, at.since(begun));
            if received % 16 == 0 && observer(progress).is_break() {
                stopped = true;
            }
            match received == packets || stopped {
                true => Break(()),
                false => Continue(()),
            }
        })?;
        if received == came_before {
            break;
        }
    }
    if stopped {
        return Err(StreamFailure::Stopped);
    }
    let joules = (nodes.iter().zip(before))
        .map(|(n, b)| net.joules(*n) - b)
        .sum();
    let end = match received as usize == have.len() {
        true => "complete",
        false => "silent",
    };
    Ok(Outcome {
        packets: have.len() as u32,
        received,
        repeated,
        air_bytes,
        seconds: last.since(begun).as_secs_f64(),
        setup_seconds: 0.0,
        rounds: 1,
        end: end.to_owned(),
        source_end: None,
        verified: false,
        object: None,
        joules,
        links: Vec::new(),
    })
}
