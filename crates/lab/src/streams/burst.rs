//! Burst forwarding on the first radio of the same nodes, over the path of the plan.

use super::arrivals::{Arrivals, BEFORE};
use super::one_radio::OneRadio;
use super::{Ground, Onlookers, Outcome, StreamFailure, Terms};
use std::ops::ControlFlow::{Break, Continue};
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
    let mut arrivals = Arrivals::new(path.object, terms);
    store.offer(arrivals.object());
    follow(path, &mut arrivals, &mut net, observer)?;
    let sink = nodes.last().copied().unwrap_or(0);
    let bytes = net.engine_mut(sink).store_mut().take(path.object.len());
    let mut outcome = arrivals.outcome(&net, bytes);
    let end = match arrivals.is_whole() {
        true => "complete",
        false => "silent",
    };
    end.clone_into(&mut outcome.end);
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
    arrivals: &mut Arrivals,
    net: &mut Network<Burst<Memory>>,
    observer: Watch<'_>,
) -> Result<(), StreamFailure> {
    let nodes = &path.plan.nodes;
    net.run_until(SimTime::ZERO + BEFORE, |_, _, _| Continue(()))?;
    arrivals.order(net, nodes);
    arrivals.begun = Some(net.now());
    let (source, sink) = (nodes.first().copied(), nodes.last().copied());
    let packets = arrivals.have().len() as u16;
    net.command(source.unwrap_or(0), Command::Send(packets));
    let (deadline, mut stopped) = (net.now() + path.terms.deadline, false);
    loop {
        let until = (net.now() + PATIENCE).min(deadline);
        let came_before = arrivals.received();
        net.run_until(until, |at, node, event| {
            let progress = match event {
                Event::Received { number } if Some(node) == sink => arrivals.note(at, number, 1),
                _ => None,
            };
            stopped = progress.is_some_and(|progress| observer(progress).is_break());
            match arrivals.is_whole() || stopped {
                true => Break(()),
                false => Continue(()),
            }
        })?;
        if stopped {
            return Err(StreamFailure::Stopped);
        }
        let nothing_came = arrivals.received() == came_before;
        if arrivals.is_whole() || nothing_came || net.now() >= deadline {
            return Ok(());
        }
    }
}
