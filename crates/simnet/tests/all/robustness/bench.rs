//! Networks made to measure, and what must hold of every fetch.

use std::fmt::Write as _;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use thalweg_host::job::Progress;
use thalweg_host::object::digest;
use thalweg_host::outcome::Summary;
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_medium::random::derive;
use thalweg_planner::{Group, LinkQualities, Member, Plan, RouteRequest};
use thalweg_simnet::motes::{Motes, RunError};
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, Dbm, Duration, NodeId, SimTime};
use thalweg_wire::route::Scheme;

/// The channels of all transfers here.
pub(crate) const CHANNELS: [u8; 4] = [15, 20, 25, 26];

/// A number below `n` for whatever a number decides.
pub(crate) fn draw(what: &str, ids: &[u64], n: u64) -> u64 {
    derive(0x7068_7265, what, ids) % n
}

/// A source, `hops - 1` stages of `paths` relays, a sink: only neighbouring stages are linked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ladder {
    pub(crate) hops: usize,
    pub(crate) paths: usize,
    /// Links have reception ratios from this to 1, drawn from the seed.
    pub(crate) least_prr: f64,
    pub(crate) seed: u64,
    pub(crate) reverse: Reverse,
}

/// Whether the source hears the relays of the first stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reverse {
    /// As all other links.
    Alive,
    /// Only the last of them.
    OneLeft,
}

impl Ladder {
    pub(crate) fn nodes(&self) -> usize {
        2 + (self.hops - 1) * self.paths
    }
    pub(crate) fn sink(&self) -> usize {
        self.nodes() - 1
    }
    /// The stage of a node.
    pub(crate) fn stage(&self, node: usize) -> usize {
        match node {
            0 => 0,
            n if n == self.sink() => self.hops,
            n => 1 + (n - 1) / self.paths,
        }
    }
    fn links(&self) -> impl Iterator<Item = (usize, usize, Channel, f64)> + '_ {
        let all = 0..self.nodes();
        let pairs = all
            .clone()
            .flat_map(move |from| all.clone().map(move |to| (from, to)));
        let near = pairs.filter(|(a, b)| self.stage(*a).abs_diff(self.stage(*b)) == 1);
        near.flat_map(move |(from, to)| {
            CHANNELS.map(|c| {
                let ids = [self.seed, from as u64, to as u64, u64::from(c)];
                let share = draw("prr", &ids, 1_000) as f64 / 999.0;
                let prr = self.least_prr + (1.0 - self.least_prr) * share;
                let dead = to == 0 && self.reverse == Reverse::OneLeft && from != self.paths;
                (
                    from,
                    to,
                    Channel::new(c).unwrap(),
                    if dead { 0.0 } else { prr },
                )
            })
        })
    }
    pub(crate) fn testbed(&self) -> Testbed {
        let mut csv = String::from("src,dst,channel,prr,rssi_dbm\n");
        for (from, to, channel, prr) in self.links() {
            let rssi = -60.0 - draw("rssi", &[self.seed, from as u64, to as u64], 8) as f64;
            writeln!(csv, "{from},{to},{},{prr:.4},{rssi}", channel.number()).unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ladder.csv");
        std::fs::write(&file, csv).unwrap();
        Testbed::load(&file).unwrap()
    }
    /// Its links as a survey without losses has them.
    pub(crate) fn surveyed(&self) -> LinkQualities {
        let mut links = LinkQualities::new(self.nodes());
        for (from, to, channel, _) in self.links() {
            links
                .record_prr(from, to, channel, 1.0, Some(Dbm(-60.0)))
                .unwrap();
        }
        links
    }
    pub(crate) fn plan(&self) -> Plan {
        plan_over(&self.surveyed(), 0, self.sink(), self.hops, self.paths)
    }
    pub(crate) fn session(&self) -> Motes {
        Motes::open(&Site::new(self.testbed(), self.seed), self.seed).unwrap()
    }
}

/// The plan of a route of so many hops with at most so many paths.
pub(crate) fn plan_over(
    links: &LinkQualities,
    source: usize,
    sink: usize,
    hops: usize,
    paths: usize,
) -> Plan {
    let mut request = RouteRequest::new(source, sink);
    request.hops = Some(hops);
    request.min_paths = 1;
    request.max_paths = Some(paths);
    let mut rng = thalweg_medium::random::stream(1, "robustness", &[]);
    thalweg_planner::plan(links, &request, &mut rng).unwrap()
}

/// `bytes` bytes of `seed`.
pub(crate) fn object(seed: u64, bytes: usize) -> Arc<[u8]> {
    thalweg_simnet::collect::random_object(seed, NodeId::MAX, bytes)
}

/// Terms with a short deadline.
pub(crate) fn terms() -> TransferTerms {
    TransferTerms {
        deadline_s: 60,
        ..TransferTerms::default()
    }
}

/// Fetches `object` and checks everything that must hold whatever happens.
pub(crate) fn fetch(
    session: &mut Motes,
    plan: &Plan,
    protocol: Scheme,
    terms: &TransferTerms,
    object: &Arc<[u8]>,
) -> Summary {
    fetch_watched(
        session,
        plan,
        protocol,
        terms,
        object,
        &mut |_| Continue(()),
    )
    .unwrap()
}

/// The same with an observer that may stop it.
pub(crate) fn fetch_watched(
    session: &mut Motes,
    plan: &Plan,
    protocol: Scheme,
    terms: &TransferTerms,
    object: &Arc<[u8]>,
    watch: &mut dyn FnMut(Progress) -> std::ops::ControlFlow<()>,
) -> Result<Summary, RunError> {
    session.offer(plan.source, object.clone());
    let began = session.network().now();
    let result = session.fetch(plan, protocol, terms, watch);
    let now = session.network().now();
    let each = Duration::from_secs(u64::from(terms.deadline_s) + 6);
    assert!(
        now.since(began) < each * u64::from(terms.retry.attempts),
        "took {}",
        now.since(began)
    );
    assert_energy(session, now);
    let (outcome, arrived) = result?;
    let outcome = outcome.summary;
    match &arrived {
        Some(part) => {
            let bytes = &part.bytes[..];
            assert!(outcome.verified && outcome.failure.is_none(), "{outcome:?}");
            assert!(
                bytes == &object[..],
                "other bytes than the source's: {outcome:?}"
            );
            assert_eq!(digest(bytes), digest(object));
            assert_eq!(outcome.bytes, object.len() as u64);
            assert!(
                outcome.goodput_kbps > 0.0 && outcome.utilisation <= Some(1.0),
                "{outcome:?}"
            );
        }
        None => {
            assert!(
                !outcome.verified && outcome.failure.is_some(),
                "{outcome:?}"
            );
            assert_eq!((outcome.bytes, outcome.goodput_kbps), (0, 0.0));
        }
    }
    assert!(
        outcome.energy_j.is_some_and(|j| j >= 0.0 && j.is_finite()),
        "{outcome:?}"
    );
    assert!(
        outcome.duration_s <= now.since(began).as_secs_f64() + 1e-3,
        "{outcome:?}"
    );
    assert!(outcome
        .first_round_reliability
        .is_none_or(|r| (0.0..=1.0).contains(&r)));
    Ok(outcome)
}

/// The times in all states sum to the time elapsed, for every node.
pub(crate) fn assert_energy(session: &mut Motes, now: SimTime) {
    let elapsed = now.since(SimTime::ZERO);
    let net = session.network();
    for node in 0..net.len() {
        let energy = net.energy(node);
        assert_eq!(energy.elapsed(), elapsed, "node {node}");
        assert_eq!(
            energy.radio_sleep + energy.radio_on(),
            elapsed,
            "node {node}"
        );
    }
}

/// Lets time pass.
pub(crate) fn wait(session: &mut Motes, time: Duration) {
    let until = session.network().now() + time;
    session
        .network()
        .run_until(until, |_, _, _| Continue(()))
        .unwrap();
}

/// The relays of a stage.
pub(crate) fn relays(plan: &Plan, stage: usize) -> Vec<usize> {
    let both = [Group::Odd, Group::Even];
    let members: &Vec<Member> = &plan.stages[stage - 1];
    members
        .iter()
        .filter(|m| both.contains(&m.group))
        .map(|m| m.node)
        .collect()
}
