//! FastForward on simulated nodes: calls from the sink, then packets, then what became of them.

use super::arrivals::{Arrivals, BEFORE};
use super::{Carrier, Ground, LinkReport, Onlookers, Outcome, Recorder, StreamFailure, Terms};
use std::ops::ControlFlow::{self, Break, Continue};
use thalweg_gateway::job::{Progress, Watch};
use thalweg_gateway::object::Memory;
use thalweg_planner::streams::StreamPlan;
use thalweg_protocols::fastforward::{
    Call, Command, End, Event, FastForward, Path, Range, Version, MAX_RANGES, STREAMS,
};
use thalweg_sim::{Network, Stop};
use thalweg_units::{Duration, SimTime};

type Net = Network<FastForward<Memory>>;

/// A stream as the sink's application sees it.
struct Watched<'a> {
    plan: &'a StreamPlan,
    arrivals: Arrivals,
    round: u32,
    end: Option<End>,
    source_end: Option<End>,
}

/// A stream that ended at its sink may still be ending at other nodes.
const AFTER: Duration = Duration::from_millis(1500);

/// Streams of one version, on one ground.
pub(super) struct Run<'a> {
    pub(super) ground: &'a Ground,
    pub(super) terms: &'a Terms,
    pub(super) version: Version,
}

impl Run<'_> {
    /// Carries all `plans` at once.
    pub(super) fn go(
        &self,
        plans: &[(StreamPlan, Vec<u8>)],
        seed: u64,
        observer: Watch<'_>,
        onlookers: &mut Onlookers,
    ) -> Result<Vec<Outcome>, StreamFailure> {
        let Self {
            ground,
            terms,
            version,
        } = *self;
        let ids: Vec<_> = ground.site.testbed.nodes.iter().map(|n| n.id).collect();
        let engines = (ids.iter())
            .map(|id| FastForward::new(*id, terms.config, Memory::default()))
            .collect();
        let mut board = ground.site.board.clone();
        board.bus = terms.bus;
        let mut net = Net::new(ground.site.environment.clone(), &[board], engines, seed)?;
        let mut streams = Vec::new();
        for (plan, object) in plans {
            let arrivals = Arrivals::new(object, terms);
            if let Some(source) = plan.nodes.first() {
                let store = net.engine_mut(*source).store_mut();
                store.offer(arrivals.object());
            }
            streams.push(Watched {
                plan,
                arrivals,
                round: 0,
                end: None,
                source_end: None,
            });
        }
        if let Some((plan, _)) = plans.first() {
            let name = Carrier::FastForward(version).name();
            onlookers.attach(&mut net, ground, name, plan)?;
        }
        let deadline = SimTime::ZERO + BEFORE + terms.deadline;
        net.run_until(SimTime::ZERO + BEFORE, |_, _, _| Continue(()))?;
        // Calls take the sink's second radio: a stream that comes in on that one is called last.
        let mut order: Vec<usize> = (0..streams.len()).collect();
        order.sort_by_key(|n| {
            let last = streams[*n].plan.links.last();
            last.is_some_and(|on| on.same_band(terms.config.calling))
        });
        for which in order {
            let Watched { plan, arrivals, .. } = &mut streams[which];
            arrivals.order(&net, &plan.nodes);
            open(ground, &mut net, &mut streams[which], which, terms, version)?;
            // The sink calls one stream after the other.
            let watching = (&mut *observer, &mut onlookers.recorder);
            follow(&mut net, &mut streams, deadline, watching, |s| {
                s[which].arrivals.begun.is_some() || s[which].end.is_some()
            })?;
        }
        if let Some((node, after, fault)) = terms.death {
            let at = net.now() + after;
            net.fault_at(at, node, fault);
        }
        loop {
            let watching = (&mut *observer, &mut onlookers.recorder);
            follow(&mut net, &mut streams, deadline, watching, |s| {
                s.iter().all(|s| s.end.is_some())
            })?;
            let rest = net.now() + AFTER;
            let mut quiet = |_: Progress| Continue(());
            follow(
                &mut net,
                &mut streams,
                rest.min(deadline),
                (&mut quiet, &mut onlookers.recorder),
                |_| false,
            )?;
            let wants = |s: &Watched<'_>| s.round < terms.repairs && !s.arrivals.is_whole();
            let Some(which) = streams
                .iter()
                .position(wants)
                .filter(|_| net.now() < deadline)
            else {
                break;
            };
            streams[which].round += 1;
            streams[which].end = None;
            open(ground, &mut net, &mut streams[which], which, terms, version)?;
        }
        let mut outcomes = Vec::new();
        for stream in &streams {
            outcomes.push(outcome(ground, &mut net, stream));
        }
        Ok(outcomes)
    }
}

/// The sink calls the path of a stream, for all its packets or those that are missing.
fn open(
    ground: &Ground,
    net: &mut Net,
    stream: &mut Watched<'_>,
    which: usize,
    terms: &Terms,
    version: Version,
) -> Result<(), StreamFailure> {
    let nodes = ground.ids(stream.plan);
    let path = Path::new(&nodes, &stream.plan.links).ok_or_else(|| StreamFailure::Unfit {
        testbed: ground.site.testbed.name.clone(),
        why: format!("a path of {} nodes does not fit a call", nodes.len()),
    })?;
    let mut ranges = [None; MAX_RANGES];
    if stream.round > 0 {
        for (to, range) in ranges.iter_mut().zip(missing(stream.arrivals.have())) {
            *to = Some(range);
        }
    }
    let sink = stream.plan.nodes.last().copied().unwrap_or(0);
    net.command(
        sink,
        Command::Open(Call {
            stream: which as u8,
            round: stream.round as u8,
            version,
            payload_bytes: terms.payload_bytes,
            path,
            ranges,
        }),
    );
    Ok(())
}

/// Runs of packets that are not there.
fn missing(have: &[bool]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for (number, _) in have.iter().enumerate().filter(|(_, have)| !**have) {
        let number = number as u16;
        match ranges.last_mut() {
            Some(range) if range.first + range.count == number => range.count += 1,
            _ => ranges.push(Range {
                first: number,
                count: 1,
            }),
        }
    }
    ranges
}

/// Who is told of progress, and who notes what links do.
type Watching<'a, 'b> = (
    &'a mut (dyn FnMut(Progress) -> ControlFlow<()> + 'b),
    &'a mut Option<Recorder>,
);

/// Lets the network run until `done`, or until the deadline.
fn follow(
    net: &mut Net,
    streams: &mut [Watched<'_>],
    deadline: SimTime,
    (observer, recorder): Watching<'_, '_>,
    done: impl Fn(&[Watched<'_>]) -> bool,
) -> Result<(), StreamFailure> {
    if done(streams) {
        return Ok(());
    }
    let mut stopped = false;
    watched_until(
        net,
        deadline,
        streams,
        recorder,
        |streams, at, node, event| {
            let of = match event {
                Event::Begun { stream, .. }
                | Event::Received { stream, .. }
                | Event::Ended { stream, .. }
                | Event::Refused { stream } => usize::from(stream),
            };
            let Some(stream) = streams.get_mut(of) else {
                return Continue(());
            };
            let is_sink = stream.plan.nodes.last() == Some(&node);
            match event {
                Event::Begun { .. } => {
                    stream.arrivals.begun.get_or_insert(at);
                }
                Event::Received { number, .. } if is_sink => {
                    let progress = stream.arrivals.note(at, number, stream.round + 1);
                    if progress.is_some_and(|progress| observer(progress).is_break()) {
                        stopped = true;
                        return Break(());
                    }
                }
                Event::Ended { why, .. } => {
                    if is_sink {
                        stream.end = Some(why);
                    } else if stream.plan.nodes.first() == Some(&node) {
                        stream.source_end = Some(why);
                    }
                }
                Event::Refused { .. } if is_sink => stream.end = Some(End::Closed),
                Event::Received { .. } | Event::Refused { .. } => {}
            }
            match done(streams) {
                true => Break(()),
                false => Continue(()),
            }
        },
    )?;
    match stopped {
        true => Err(StreamFailure::Stopped),
        false => Ok(()),
    }
}

/// Runs the network until `deadline` or until `handler` breaks, and has `recorder` look at the first
/// stream's queues meanwhile.
fn watched_until(
    net: &mut Net,
    deadline: SimTime,
    streams: &mut [Watched<'_>],
    recorder: &mut Option<Recorder>,
    mut handler: impl FnMut(&mut [Watched<'_>], SimTime, usize, Event) -> ControlFlow<()>,
) -> Result<(), StreamFailure> {
    loop {
        let until = match recorder {
            Some(recorder) => recorder.due(net.now()).min(deadline),
            None => deadline,
        };
        let stop = net.run_until(until, |at, node, event| handler(streams, at, node, event))?;
        if let (Some(recorder), Some(first)) = (recorder.as_mut(), streams.first()) {
            if first.arrivals.begun.is_some() && first.end.is_none() {
                let queue = |n: &usize| {
                    let engine = net.engine(*n);
                    (0..STREAMS).map(|at| engine.queue_len(at)).sum()
                };
                recorder.look(net.now(), first.plan.nodes.iter().map(queue));
            }
        }
        if stop == Stop::Observer || until >= deadline {
            return Ok(());
        }
    }
}

fn outcome(ground: &Ground, net: &mut Net, stream: &Watched<'_>) -> Outcome {
    let nodes = &stream.plan.nodes;
    let id = |n: usize| ground.site.testbed.id_of(n).map_or(0, |id| id.get());
    let links = (nodes.windows(2).zip(&stream.plan.links))
        .map(|(pair, on)| {
            let engine = net.engine(pair[0]);
            // A node on the path of one stream has one part; its counts are in the place it had.
            let counts = (0..STREAMS)
                .map(|at| engine.counts(at))
                .max_by_key(|counts| counts.sent)
                .unwrap_or_default();
            LinkReport {
                from: id(pair[0]),
                to: id(pair[1]),
                on: on.to_string(),
                sent: counts.sent,
                retransmissions: counts.retransmissions,
                unacknowledged: counts.unacknowledged,
                overflows: counts.overflows,
                withheld: counts.withheld,
                duplicates: counts.duplicates,
                queue_peak: u32::from(counts.queue_peak),
                queue_mean: f64::from(counts.queue_sum) / f64::from(counts.taken.max(1)),
            }
        })
        .collect();
    let sink = nodes.last().copied().unwrap_or(0);
    // The sink's memory holds one object: of two streams, what arrived last.
    let store = net.engine_mut(sink).store_mut();
    let bytes = store.take(stream.arrivals.object().len());
    Outcome {
        rounds: stream.round + 1,
        end: told(stream.end),
        source_end: Some(told(stream.source_end)),
        links,
        ..stream.arrivals.outcome(net, bytes)
    }
}

fn told(end: Option<End>) -> String {
    match end {
        None => "under way".to_owned(),
        Some(End::Complete) => "complete".to_owned(),
        Some(End::Silent) => "silent".to_owned(),
        Some(End::Broken { neighbour }) => format!("node {neighbour} does not answer"),
        Some(End::Closed) => "closed".to_owned(),
    }
}
