//! Runs a script: a survey, its steps under its faults, and then, when all is well again, everything once more.
//!
//! Time base: simulated time. Invariant: the same script, the same end. Tests: `run_tests.rs`.

mod checks;

use crate::breach::Breach;
use crate::network::{at, id, security, Field, CHANNELS};
use crate::script::{Script, Step};
use crate::session::{gather, CALM_SESSION, CALM_SESSIONS, SLACK};
use checks::check_report;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow::{self, Continue};
use std::sync::Arc;
use thalweg_host::collector::{
    Collector, Description, FetchRequest, LineLoss, Patience, Search, TransferEnd, TransferObserver,
};
use thalweg_host::job::{Failure, Progress};
use thalweg_host::link_state::{LinkState, Place, PlanRequest};
use thalweg_host::network::Network;
use thalweg_host::recovery::Sought;
use thalweg_host::registry::Pipelined;
use thalweg_host::segments::Assembly;
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_medium::random::{derive, stream};
use thalweg_planner::{LinkQualities, Plan, RelayOrder};
use thalweg_sim::Board;
use thalweg_simnet::motes::currents;
use thalweg_units::{Channel, Duration, NodeId, SimTime};
use thalweg_wire::route::PayloadSize;

/// How long links are measured again while things go wrong.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest that a job may take while things go wrong: forty-eight attempts, each to its deadline of 600 s and the 30 s
/// that a host waits beyond.
const BOUND: Duration = Duration::from_secs(48 * 630);
/// The longest that an object may take once all is well: a node may stay in a transfer of which no frame comes any more to its
/// deadline of 600 s and three seconds; then a survey and a transfer.
const CALM_BOUND: Duration = Duration::from_secs(700);
/// Bytes of an object for which [`CALM_BOUND`] is a second longer.
const SLOW_BYTES: u64 = 1_000;

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ran {
    /// Events of the simulation.
    pub events: u64,
    /// How long the network ran.
    pub time: Duration,
    /// Jobs while things went wrong.
    pub jobs: u32,
    /// Of these, those that brought what was asked.
    pub done: u32,
    /// Objects once all was well.
    pub delivered: u32,
    /// The longest that one of these took.
    pub slowest: Duration,
    /// Objects that could not arrive even then: no strong links lead from their nodes to the base station.
    pub out_of_reach: u32,
}

/// Runs `script` on nodes that are `board`s.
///
/// # Errors
/// [`Breach`]: what did not hold. A panic is not caught here.
pub fn run(script: &Script, board: &Board) -> Result<Ran, Breach> {
    let field = Field::open(script, board)?;
    let ids = field.ids().to_vec();
    let description = description(script, board, ids);
    let mut runner = Runner {
        script,
        collector: Collector::new(description, 0, LineLoss::Ends),
        field,
        links: None,
        objects: BTreeMap::new(),
        asked: BTreeSet::new(),
        ran: Ran::default(),
    };
    let ended = runner.run();
    let kept_secret = runner.check_secrets();
    // What broke below is the reason of whatever came of it above.
    if let Some(breach) = runner.field.take_breach() {
        return Err(breach);
    }
    kept_secret.and(ended)?;
    runner.ran.events = runner.field.net.stats().events;
    runner.ran.time = runner.field.now().since(SimTime::ZERO);
    Ok(runner.ran)
}

/// What a host knows of the network beforehand.
fn description(script: &Script, board: &Board, ids: Vec<NodeId>) -> Description {
    let channels = CHANNELS.into_iter().filter_map(|n| Channel::new(n).ok());
    Description {
        place: Place {
            name: "fault".to_owned(),
            ids,
            labels: BTreeMap::new(),
            channels: channels.collect(),
            order: RelayOrder::Random,
            floor: board.chip.noise_floor,
            control: Channel::LAST,
            timing: Some(board.timing),
            currents: currents(board),
        },
        positions: None,
        sink: id(1),
        beside: Vec::new(),
        keys: security(script).map(|security| security.keys),
        channels: None,
        timing: board.timing,
        draw: (stream, script.seed),
    }
}

struct Runner<'a> {
    script: &'a Script,
    collector: Collector,
    field: Field,
    links: Option<LinkState>,
    /// What nodes offer, by index.
    objects: BTreeMap<usize, Arc<[u8]>>,
    /// Of these, whose were fetched.
    asked: BTreeSet<usize>,
    ran: Ran,
}

impl Runner<'_> {
    fn run(&mut self) -> Result<(), Breach> {
        self.survey()?;
        for (number, step) in self.script.steps.iter().enumerate() {
            match *step {
                Step::Survey {} => self.survey()?,
                Step::Pause { ms } => {
                    let until = self.field.now() + Duration::from_millis(ms);
                    self.field.wait(until)?;
                }
                Step::Fetch { from, bytes } => {
                    self.offer(from, bytes, number);
                    self.fetch_while(from)?;
                }
                Step::Session { bytes, for_ms } => {
                    for from in 2..=self.script.nodes {
                        self.offer(from, bytes, number);
                    }
                    let limit = Duration::from_millis(for_ms);
                    self.job("a session", limit + SLACK, |own| own.gather(limit))?;
                }
            }
        }
        self.calm()
    }

    /// Fetches the object of node `from`, whatever goes wrong meanwhile.
    fn fetch_while(&mut self, from: u16) -> Result<(), Breach> {
        let (source, done) = (usize::from(from) - 1, self.ran.done);
        let is_calm = self.field.now() >= at(self.script.calm_ms());
        self.job("a fetch", BOUND, |own| own.fetch(from, PATIENCE))?;
        // What came when all was over need not come again.
        if is_calm && self.ran.done > done {
            self.asked.remove(&source);
            self.ran.delivered += 1;
        } else {
            self.asked.insert(source);
        }
        Ok(())
    }

    /// All is well: whatever was asked for arrives.
    fn calm(&mut self) -> Result<(), Breach> {
        self.field.wait(at(self.script.calm_ms()))?;
        self.field.heal();
        self.calm_session()?;
        let reached = self.script.reached();
        for source in std::mem::take(&mut self.asked) {
            let from = source as u16 + 1;
            if !reached.contains(&from) {
                self.ran.out_of_reach += 1;
                continue;
            }
            let bytes = self.objects.get(&source).map_or(0, |object| object.len());
            let bound = CALM_BOUND + Duration::from_secs(bytes as u64 / SLOW_BYTES);
            let began = self.field.now();
            let mut why = String::new();
            while self.field.now().since(began) < bound {
                match self.fetch(from, bound) {
                    Ok(Ok(())) => break,
                    Ok(Err(said)) => why = said,
                    Err(breach) => return Err(breach),
                }
                // As a gateway does: it measures links, and tries again.
                let pause = self.field.now() + Duration::from_secs(4);
                self.field.wait(pause)?;
                // Where it fails, what is known of links stays.
                let _ = self.survey_once()?;
            }
            let took = self.field.now().since(began);
            if took >= bound {
                let source_node = id(from);
                return Err(Breach::Undelivered { source_node, why });
            }
            self.ran.delivered += 1;
            self.ran.slowest = self.ran.slowest.max(took);
        }
        self.check_meters()
    }
    /// All is well: a session brings what all nodes have.
    fn calm_session(&mut self) -> Result<(), Breach> {
        let mut missing = self.script.reached();
        missing.retain(|node| *node != 1);
        if !self.script.has_sessions() || missing.is_empty() {
            return Ok(());
        }
        let mut why = String::new();
        for _ in 0..CALM_SESSIONS {
            match gather(&mut self.field, CALM_SESSION)? {
                Ok(came) => {
                    let came = self.check_gathered(came)?;
                    missing.retain(|node| !came.contains(node));
                }
                Err(said) => why = said,
            }
            if missing.is_empty() {
                self.ran.delivered += u32::from(self.script.nodes) - 1;
                return Ok(());
            }
        }
        let source_node = id(missing[0]);
        Err(Breach::Undelivered { source_node, why })
    }

    /// Node `from` has an object of its own from now on.
    fn offer(&mut self, from: u16, bytes: u32, number: usize) {
        let index = usize::from(from) - 1;
        let drawn = derive(
            self.script.seed,
            "object",
            &[u64::from(from), number as u64],
        );
        let mut rng = stream(drawn, "object bytes", &[]);
        let mut object = vec![0; bytes as usize];
        rand::RngCore::fill_bytes(&mut rng, &mut object);
        let object: Arc<[u8]> = object.into();
        self.field.offer(index, object.clone());
        self.objects.insert(index, object);
    }

    /// Runs one job, which ends within `bound`.
    fn job(
        &mut self,
        name: &str,
        bound: Duration,
        work: impl FnOnce(&mut Self) -> Result<Result<(), String>, Breach>,
    ) -> Result<(), Breach> {
        let began = self.field.now();
        let done = work(self)?;
        self.ran.jobs += 1;
        self.ran.done += u32::from(done.is_ok());
        let took = self.field.now().since(began);
        match took > bound {
            true => Err(Breach::Overtime {
                job: name.to_owned(),
                took,
                bound,
            }),
            false => Ok(()),
        }
    }

    /// Has all nodes send what they have: whether all of it came.
    fn gather(&mut self, limit: Duration) -> Result<Result<(), String>, Breach> {
        let came = match gather(&mut self.field, limit)? {
            Ok(came) => self.check_gathered(came)?,
            Err(why) => return Ok(Err(why)),
        };
        match came.len() == usize::from(self.script.nodes) - 1 {
            true => Ok(Ok(())),
            false => Ok(Err("not all came".to_owned())),
        }
    }
    fn survey(&mut self) -> Result<(), Breach> {
        self.job("a survey", BOUND, |own| own.survey_once())
    }
    /// Measures links; what is known of them stays where that fails.
    fn survey_once(&mut self) -> Result<Result<(), String>, Breach> {
        let sought = Sought {
            within: PATIENCE,
            ..Sought::all_but(&[])
        };
        let protocol = protocol();
        let surveyed =
            (self.collector).survey(&mut self.field, protocol, sought, &mut |_| Continue(()));
        match surveyed {
            Ok(surveyed) => {
                self.check_survey(&surveyed)?;
                let links = self.collector.description().link_state(surveyed.links);
                self.links = Some(links.measured_at(self.field.now()));
                Ok(Ok(()))
            }
            Err(why) => self.failed(&why).map(Err),
        }
    }
    /// What a job said that failed; a breach where the network below is to blame.
    fn failed(&mut self, why: &Failure) -> Result<String, Breach> {
        match (self.field.take_breach(), why) {
            (Some(breach), _) => Err(breach),
            (None, Failure::Network(why)) => Err(Breach::Stuck(why.to_string())),
            (None, why) => Ok(why.to_string()),
        }
    }

    /// Fetches the object of node `from`: whether it came, and what was said where it did not.
    fn fetch(&mut self, from: u16, patience: Duration) -> Result<Result<(), String>, Breach> {
        let source = usize::from(from) - 1;
        let Some(object) = self.objects.get(&source).cloned() else {
            return Ok(Ok(()));
        };
        let request = PlanRequest {
            from: Some(id(from)),
            bytes: object.len() as u64,
            protocol: protocol(),
            payload: PayloadSize::MAX,
            paths: None,
            hops: None,
        };
        let patience = Patience::of(patience);
        let (links, plan) = match self.route(&request, patience)? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let fetch = FetchRequest {
            link_state: &links,
            plan_request: request,
            plan: Arc::new(plan),
            survey: None,
            retry: TransferTerms::default().retry,
            patience: Some(patience),
        };
        let mut learner = Learner(links.clone());
        let assembly = &mut Assembly::default();
        let fetched = (self.collector).fetch(&mut self.field, &fetch, assembly, &mut learner);
        self.links = Some(learner.0);
        match fetched {
            Ok(report) => check_report(id(from), &object, &report),
            Err(why) => self.failed(&why).map(Err),
        }
    }
    /// A route by what is known of links, or by what they are when measured again.
    #[allow(clippy::type_complexity)]
    fn route(
        &mut self,
        request: &PlanRequest,
        patience: Patience,
    ) -> Result<Result<(LinkState, Plan), String>, Breach> {
        let links = self.links.take().unwrap_or_else(|| {
            let none = LinkQualities::new(usize::from(self.script.nodes));
            self.collector.description().link_state(none)
        });
        let links = links.as_of(self.field.now());
        self.links = Some(links.clone());
        let why = match links.plan(request) {
            Ok(plan) => return Ok(Ok((links, plan))),
            Err(why) => why.to_string(),
        };
        let search = &mut Search::new(patience, links.links());
        let found =
            (self.collector).find_route(&mut self.field, (request, search), &mut |_| Continue(()));
        match found {
            Ok(found) => Ok(found.ok_or(why)),
            Err(why) => self.failed(&why).map(Err),
        }
    }
}

/// The default protocol.
fn protocol() -> Pipelined {
    Pipelined::named("thalweg").unwrap_or(Pipelined::P3)
}

/// Notes what transfers show of links.
struct Learner(LinkState);

impl TransferObserver<Field> for Learner {
    type Error = Failure;

    fn progress(&mut self, _protocol: &str, _progress: Progress) -> ControlFlow<()> {
        Continue(())
    }
    fn end(&mut self, _network: &mut Field, ended: &TransferEnd<'_>) -> Result<(), Failure> {
        self.0.observe(ended.hops);
        Ok(())
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
