//! Runs the jobs of a collector: one transfer, over a line that may fail meanwhile.
//!
//! Time base: the network's. Tests: as of [`super`].

use super::{Collector, LineLoss, ProtocolPlan};
use crate::job::{run, Failure, Watch};
use crate::line::LineError;
use crate::link_state::{hop_observations, HopObservation};
use crate::network::{Network, NetworkFault, Notice};
use crate::segments::Fault;
use crate::transfer::hops::{hop_route, HopFetch};
use crate::transfer::pipeline::{
    settling, Fetch, Fetched, Order, TransferJob, TransferTerms, SETTLING,
};
use crate::transfer::reroute::Reroute;
use thalweg_protocols::mote::Event;
use thalweg_units::{Duration, NodeId};
use thalweg_wire::route::Scheme;
use thalweg_wire::seal::frame::Sealing;

/// How long to wait for a line that is down.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often to start a job again after a loss of its line.
const LINE_LOSSES: u32 = 3;
/// How often to check a line that is down.
const LINE_CHECK: Duration = Duration::from_secs(1);

impl Collector {
    /// Runs the job of one transfer, and adds what it shows of nodes and hops to `observations`.
    pub(super) fn run_fetch<F>(
        &mut self,
        network: &mut F,
        choice: &ProtocolPlan,
        terms: &TransferTerms,
        watch: Watch<'_>,
        observations: &mut Observations,
    ) -> Result<Fetched, Failure>
    where
        F: Network<Order = Order, Event = Event>,
    {
        let (plan, scheme) = (&*choice.plan, choice.protocol.scheme);
        let (number, ids) = (self.transfers.wrapping_add(1), &self.description.place.ids);
        if self.sealing() == Sealing::Sealed && !choice.protocol.is_sealed() {
            let protocol = choice.protocol.name;
            let line = format!("the network is secured, and {protocol} is not sealed");
            return Err(Failure::Unfit(line));
        }
        let proof = self.proof(self.description.id(plan.source));
        if scheme == Scheme::HopByHop {
            let job = HopFetch::new(hop_route(plan, terms, ids, number)?, ids);
            return self.run_job(network, job.proved_by(proof), scheme, watch, observations);
        }
        let job = Fetch::new(Reroute::of(plan, scheme, terms, ids)?, number, ids, terms);
        let job = job.proved_by(proof);
        let fetched = self.run_job(network, job, scheme, watch, observations)?;
        let bytes = fetched.segment.as_ref().map_or(0, |part| part.bytes.len());
        let packets = (bytes as u32).div_ceil(u32::from(terms.payload.bytes()));
        let (now, ids) = (network.now(), &self.description.place.ids);
        (observations.hops).extend(hop_observations((plan, ids), packets, &fetched, now));
        Ok(fetched)
    }

    /// Runs `job` of `scheme`, and adds the nodes that took part to `observations`.
    fn run_job<F>(
        &mut self,
        network: &mut F,
        mut job: impl TransferJob,
        scheme: Scheme,
        watch: Watch<'_>,
        observations: &mut Observations,
    ) -> Result<Fetched, Failure>
    where
        F: Network<Order = Order, Event = Event>,
    {
        let ids = &self.description.place.ids;
        let began = network.now();
        let fetched = run(network, &mut job, watch);
        self.transfers = self.transfers.wrapping_add(job.attempts() as u16);
        self.fault = match &fetched {
            Ok(fetched) if fetched.segment.is_some() => None,
            Ok(fetched) if fetched.complete.is_some() => Some(Fault::OtherBytes),
            Err(Failure::Restarted(_) | Failure::Refused(_)) => Some(Fault::StationLost),
            _ => Some(Fault::BrokeOff),
        };
        let fetched = match fetched {
            Err(why) if is_retryable(&why) => {
                let joules = ids.iter().map(|id| network.joules(*id)).collect();
                Ok(job.abandon(&why, joules))
            }
            fetched => fetched,
        };
        let now = network.now();
        let has_all = matches!(&fetched, Ok(fetched) if fetched.complete.is_some());
        let is_settled = has_all && settling(scheme).is_zero();
        self.broken = (!is_settled).then_some(now);
        // Nodes that missed the end listen for that much longer.
        let rest = match is_settled {
            true => Duration::ZERO,
            false => SETTLING,
        };
        observations.on_time += now.since(began) + rest;
        observations.add_participants(job.participants());
        fetched
    }

    /// Runs `job`, and runs it again after a loss of the line if this collector waits for lines.
    pub(super) fn with_line_retries<F: Network, X>(
        &mut self,
        network: &mut F,
        mut job: impl FnMut(&mut Self, &mut F) -> Result<X, Failure>,
    ) -> Result<X, Failure> {
        let (mut losses, mut until) = (0, None);
        loop {
            let why = match job(self, network) {
                Err(why) if self.line_loss == LineLoss::Waits => why,
                done => return done,
            };
            let now = network.now();
            // A line that is still down does not count as another loss.
            match &why {
                Failure::Silent(_) | Failure::Restarted(_) | Failure::Refused(_)
                    if losses < LINE_LOSSES =>
                {
                    losses += 1;
                    (until, self.broken) = (None, Some(now));
                }
                Failure::Network(why) if is_line_down(why) => {}
                _ => return Err(why),
            }
            if now >= *until.get_or_insert(now + PATIENCE) {
                return Err(why);
            }
            // Drop what the station still reports of the earlier job.
            while network.now() < now + LINE_CHECK {
                if let Notice::Cancelled = network.next(now + LINE_CHECK)? {
                    return Err(Failure::Cancelled);
                }
            }
        }
    }
}

/// What a transfer shows of nodes and hops, over all its attempts.
#[derive(Debug, Default)]
pub struct Observations {
    pub(super) participants: Vec<NodeId>,
    pub(super) on_time: Duration,
    pub(super) hops: Vec<HopObservation>,
}

impl Observations {
    fn add_participants(&mut self, nodes: &[NodeId]) {
        for node in nodes {
            if !self.participants.contains(node) {
                self.participants.push(*node);
            }
        }
    }
}

/// Whether the line is down, and may come back.
fn is_line_down(why: &NetworkFault) -> bool {
    let NetworkFault::Broken(why) = why else {
        return false;
    };
    matches!(why.downcast_ref(), Some(LineError::Down { .. }))
}

/// Whether a transfer that failed like this may be tried over another plan.
const fn is_retryable(why: &Failure) -> bool {
    matches!(
        why,
        Failure::Restarted(_) | Failure::Refused(_) | Failure::NoEnd(_)
    )
}
