//! Simulated nodes behind the host's [`Network`]; any of them can be the base station.
//!
//! Orders, events and bytes pass through the same interface as on hardware. Faults, captures and the engines' counters
//! are the simulator's alone; experiments and reports use them. Time base: simulated time. Tests:
//! `crates/simnet/tests/all/robustness/`.

mod sim_network;

use crate::battery::Powered;
use crate::security::simulated_security;
pub use sim_network::SimNetwork;
use std::ops::ControlFlow::Continue;
use std::sync::Arc;
use thalweg_engine::{BoardTiming, Engine, RadioId};
use thalweg_host::collector::{
    clean_channels, Collector, Description, LineLoss, Observations, ProtocolPlan, Transfer,
};
use thalweg_host::job::{run, Failure, Watch};
use thalweg_host::link_state;
use thalweg_host::object::{Memory, Proof};
use thalweg_host::recovery::{self, Reports, Sought, Turn};
use thalweg_host::registry::Pipelined;
use thalweg_host::security::NetworkKeys;
use thalweg_host::survey::{Survey, SurveyJob, SurveyOutcome};
use thalweg_host::transfer::pipeline::{Node, TransferTerms, MAX_NODES};
use thalweg_host::waves::{Start, WaveResult};
use thalweg_medium::chip::{Band, Chip, Phy};
use thalweg_medium::random::stream;
use thalweg_planner::{Currents, Place, Plan, RelayOrder};
use thalweg_protocols::floodnet;
use thalweg_protocols::object::ObjectStore;
use thalweg_protocols::rouse;
use thalweg_sim::{misfit, Board, McuRuns, Network as Simulation, NetworkError, SimError};
use thalweg_testbeds::{Physics, Places, Site, Testbed};
use thalweg_units::{Channel, Duration, NodeId};
use thalweg_wire::phy;
use thalweg_wire::route::Scheme;

/// Why a simulated network did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The testbed has more nodes than a sink can order about.
    #[error("{nodes} nodes: link measurement and transfers take at most {MAX_NODES}")]
    TooManyNodes {
        /// How many it has.
        nodes: usize,
    },
    /// The board cannot carry pipelines: its name, and what it lacks.
    #[error("board {0}: pipelines, surveys and floods need a radio of IEEE 802.15.4 at 250 kbit/s in the 2.4 GHz band that starts frames on time; {1}")]
    Board(String, String),
    /// The simulator could not be set up.
    #[error("simulation: {0}")]
    Network(#[from] NetworkError),
    /// The simulator failed.
    #[error("simulation: {0}")]
    Sim(#[from] SimError),
    /// The job failed.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl RunError {
    /// Whether it was cancelled.
    pub const fn is_stop(&self) -> bool {
        matches!(self, Self::Failed(Failure::Cancelled))
    }
    /// Whether what was asked for is to blame, not what happened then.
    pub const fn is_input(&self) -> bool {
        use RunError::{Board, Failed, TooManyNodes};
        matches!(
            self,
            TooManyNodes { .. } | Board(..) | Failed(Failure::Unfit(_))
        )
    }
}

/// Whether pipelines, surveys and floods run over nodes that are such boards, by the first radio of each; else what
/// that lacks.
///
/// # Errors
/// What it lacks, in a few words.
pub fn check_pipelines(board: &Board) -> Result<(), String> {
    let Chip {
        name, phy, band, ..
    } = board.chip;
    if *phy != Phy::OQPSK_250K || *band != Band::Ghz2_4 {
        return Err(format!("its {name} has other frames, or another band"));
    }
    let config = floodnet::Config::default();
    let node = node_of(config, board.timing, None)(NodeId::MAX);
    let wants = node.wants(RadioId(0));
    match wants.and_then(|wants| misfit(board, &wants)) {
        Some(misfit) => Err(format!("with its {name}, {misfit}")),
        None => Ok(()),
    }
}

/// What a board draws, for predicted energy. Code of serial boards runs for as long as a frame's copies take, that of
/// others while the frame is on the air, or for a handler where the radio sends by itself.
pub fn currents(board: &Board) -> Currents {
    let (drawn, timing) = (board.currents, board.timing);
    let on_air = phy::air_time(phy::MAX_MPDU).as_secs_f64();
    let runs = match (timing.software.is_serial(), board.mcu) {
        (true, _) => (timing.forward_software.as_secs_f64() / on_air).min(1.0),
        (false, McuRuns::ForHandlers) => board.handler.as_secs_f64() / on_air,
        (false, _) => 1.0,
    };
    Currents {
        receive_ma: drawn.radio_receive_ma,
        send_ma: drawn.radio_transmit_ma,
        code_ma: drawn.mcu_active_ma * runs,
        supply_v: drawn.supply_v,
        resting_w: resting_w(board),
    }
}

/// Power of an idle node that sleeps: it starts its radio, samples the channel, and sleeps on. Its code runs
/// when it wakes and when the sample is over.
fn resting_w(board: &Board) -> f64 {
    let (drawn, timing) = (board.currents, board.timing);
    let period = rouse::PERIOD.as_secs_f64();
    let on = rouse::window(&timing).saturating_sub(timing.wake + timing.turnaround);
    let states = [
        (timing.wake + board.waking.lead, drawn.radio_idle_ma),
        (timing.turnaround, drawn.radio_calibrate_ma),
        (on, drawn.radio_receive_ma),
        (board.handler * 2 + board.waking.code, drawn.mcu_active_ma),
    ];
    let awake = states.map(|(time, ma)| time.as_secs_f64() * ma);
    let asleep_ma = drawn.radio_sleep_ma + drawn.mcu_low_power_ma;
    (awake.iter().sum::<f64>() / period + asleep_ma) * 1e-3 * drawn.supply_v
}

/// What nodes do by themselves before an order is given.
type BeforeOrder<E> = Box<dyn Fn(&mut Simulation<E>) + Send>;
/// Is shown each order before nodes get it.
type OrderHook<E> = Box<dyn FnMut(&mut Simulation<E>, &<E as Engine>::Command) + Send>;

/// A testbed's nodes, for the planner.
pub fn place(testbed: &Testbed) -> link_state::Place {
    let board = &testbed.board;
    link_state::Place {
        name: testbed.name.clone(),
        ids: testbed.nodes.iter().map(|n| n.id).collect(),
        labels: testbed.labels.clone(),
        channels: testbed.channels,
        order: match testbed.places {
            Places::Unknown => RelayOrder::Random,
            Places::Known => RelayOrder::NearestLine,
        },
        floor: board.chip.noise_floor,
        control: testbed.control,
        timing: Some(board.timing),
        currents: currents(board),
    }
}

/// What the nodes of `site` agree on: floods on its control channel, with slots for its boards.
pub fn flood_config(site: &Site) -> floodnet::Config {
    let mut config = floodnet::Config::default().on(&site.board.timing);
    if site.idle().is_some() {
        config.idle = floodnet::Idle::Rests;
    }
    config.glossy.channel = site.testbed.control;
    config
}

/// Describes `site` before its links are measured, with `sink` as base station. Pipelines take `channels`; without them
/// those of P3, or on measured links the four that link the network best.
pub fn description(site: &Site, sink: NodeId, channels: Option<&[Channel]>) -> Description {
    let testbed = &site.testbed;
    let is_measured = matches!(testbed.physics, Physics::Measured(_));
    let clean = || clean_channels(testbed.channels).filter(|_| !is_measured);
    Description {
        place: place(testbed),
        positions: positions(site),
        sink,
        beside: Vec::new(),
        channels: channels.map(<[Channel]>::to_vec).or_else(clean),
        timing: site.board.timing,
        draw: (stream, site.seed),
        keys: simulated_security(site).map(|security| security.keys),
    }
}

/// Where the nodes of `site` are; none unless all are known.
fn positions(site: &Site) -> Option<Vec<Place>> {
    let place = |p: thalweg_medium::Placement| Place {
        x_m: p.position.x_m,
        y_m: p.position.y_m,
        z_m: p.position.z_m,
        floor: p.floor,
    };
    let ears = site.environment.ears.iter();
    ears.map(|ear| ear.placement.map(place)).collect()
}

/// What makes a node of `config` and `timing`, with its part of `keys` in a secured network.
fn node_of(
    config: floodnet::Config,
    timing: BoardTiming,
    keys: Option<Arc<NetworkKeys>>,
) -> impl Fn(NodeId) -> Node + Clone + Send {
    move |id| {
        let memory = keys.as_ref().map(|keys| Memory::proving(keys.proof(id)));
        let seals = keys.as_ref().map(|keys| keys.seals());
        Node::guarded((id, seals), config, timing, memory.unwrap_or_default())
    }
}

/// A site's nodes with one radio: they survey their links, and carry pipelines one after the other.
pub struct Motes {
    /// Their network.
    pub nodes: SimNetwork<Node>,
    board: Board,
    collector: Collector,
}

impl Motes {
    /// The nodes of `site`, switched on; `seed` draws what differs between runs on the same site.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn open(site: &Site, seed: u64) -> Result<Self, RunError> {
        let nodes = site.testbed.len();
        if nodes > MAX_NODES {
            return Err(RunError::TooManyNodes { nodes });
        }
        let named = |lack| RunError::Board(site.testbed.board_name.clone(), lack);
        check_pipelines(&site.board).map_err(named)?;
        Self::open_with(site, flood_config(site), seed)
    }

    /// The same with floods as `config` has them, on any board: radios of other bands can survey their links, too.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn open_with(site: &Site, config: floodnet::Config, seed: u64) -> Result<Self, RunError> {
        if site.testbed.len() > MAX_NODES {
            let nodes = site.testbed.len();
            return Err(RunError::TooManyNodes { nodes });
        }
        let board = site.board.clone();
        let timing = board.timing;
        let security = simulated_security(site);
        let keys = security.as_ref().map(|security| security.keys.clone());
        let node = node_of(config, timing, keys);
        let rests = site.idle().is_some_and(|idle| idle >= rouse::AWAKE);
        let made = node.clone();
        let first = move |id| {
            let mut node = made(id);
            if rests {
                node.set_idled();
            }
            node
        };
        let mut nodes = SimNetwork::of(site, &board, first, seed)?;
        nodes.restart_with(move |id| node(id).restarted());
        if let Some(security) = security {
            nodes.prelude = Some(Box::new(move |order| security.before(order)));
        }
        if let Some(powered) = Powered::of(site) {
            nodes.before_orders(move |net| powered.measure(net));
        }
        let description = Description {
            draw: (stream, seed),
            ..description(site, site.testbed.sink, None)
        };
        Ok(Self {
            nodes,
            board,
            collector: Collector::new(description, 0, LineLoss::Ends),
        })
    }

    /// The simulated network, for captures, faults and traces.
    pub fn network(&mut self) -> &mut Simulation<Node> {
        &mut self.nodes.net
    }
    /// The board of the nodes.
    pub fn board(&self) -> &Board {
        &self.board
    }
    /// Offers `object` at node `source`.
    pub fn offer(&mut self, source: usize, object: Arc<[u8]>) {
        self.nodes.offer(source, object);
    }
    /// What shows that an object is the whole of node `source`'s.
    pub fn proof(&self, source: usize) -> Proof {
        self.collector.proof(self.nodes.ids()[source])
    }
    /// Packets of the object that node `source` offers, on `terms`.
    pub fn packets(&self, source: usize, terms: &TransferTerms) -> u32 {
        let info = self.nodes.net.engine(source).pipeline().store().info();
        info.len.div_ceil(u32::from(terms.payload.bytes()))
    }

    /// Leaves the network alone for `time`.
    ///
    /// # Errors
    /// [`RunError::Failed`].
    pub fn wait(&mut self, time: Duration) -> Result<(), RunError> {
        let until = self.nodes.net.now() + time;
        self.nodes.net.run_until(until, |_, _, _| Continue(()))?;
        Ok(())
    }
    /// Fetches over all of `plans` at once, each of which begins as it says.
    ///
    /// # Errors
    /// [`RunError::Failed`].
    pub fn wave(
        &mut self,
        plans: &[(Plan, Start)],
        scheme: Scheme,
        terms: &TransferTerms,
    ) -> Result<WaveResult, RunError> {
        let sinks: Vec<usize> = plans.iter().map(|(plan, _)| plan.sink).collect();
        self.nodes.hear(&sinks);
        let (collector, by) = (&mut self.collector, (scheme, terms));
        Ok(collector.wave(&mut self.nodes, plans, by, &mut |_| Continue(()))?)
    }

    /// Has the network measure its links and report them to node `sink`.
    ///
    /// # Errors
    /// [`RunError::Failed`].
    pub fn survey(
        &mut self,
        sink: usize,
        survey: Survey,
        watch: Watch<'_>,
    ) -> Result<SurveyOutcome, RunError> {
        let mut job = self.survey_maker(sink, survey)()?;
        self.nodes.hear(&[sink]);
        Ok(run(&mut self.nodes, &mut job, watch)?)
    }
    /// The same, and again where tables are missing, as a gateway does.
    ///
    /// # Errors
    /// [`RunError::Failed`].
    pub fn survey_all(
        &mut self,
        sink: usize,
        survey: Survey,
        watch: Watch<'_>,
    ) -> Result<SurveyOutcome, RunError> {
        let first = self.survey_maker(sink, survey);
        let later = self.survey_maker(sink, survey.again());
        let nodes = self.nodes.ids().len();
        let longer = self.survey_maker(sink, survey.again().longer(nodes));
        let make = |turn| match turn {
            Turn::First => first(),
            Turn::Later => later(),
            Turn::Longer => longer(),
        };
        self.nodes.hear(&[sink]);
        let ids = self.nodes.ids().to_vec();
        let control = self.collector.description().place.control;
        let collector = &mut self.collector;
        let reports = Reports {
            sealing: collector.sealing(),
            ids: &ids,
            sink: ids[sink],
            floor: self.board.chip.noise_floor,
            control,
            measured: survey.channels,
            number: &mut || collector.next_number(),
        };
        Ok(recovery::survey(
            &mut self.nodes,
            (None, Sought::all_but(&[])),
            make,
            reports,
            watch,
        )?)
    }
    fn survey_maker(&self, sink: usize, survey: Survey) -> impl Fn() -> Result<SurveyJob, Failure> {
        let places = self.collector.description().positions.clone();
        let (ids, timing) = (self.nodes.ids().to_vec(), self.board.timing);
        move || SurveyJob::new(survey, &ids, places.clone(), &timing, ids[sink])
    }

    /// Fetches the object that the plan's source offers. A transfer that fails is an outcome with a failure; the object
    /// comes with it where it is whole.
    ///
    /// # Errors
    /// [`RunError::Failed`] where nothing can be said of the transfer.
    pub fn fetch(
        &mut self,
        plan: &Plan,
        scheme: Scheme,
        terms: &TransferTerms,
        watch: Watch<'_>,
    ) -> Result<Transfer, RunError> {
        self.nodes.hear(&[plan.sink]);
        let (plan, protocol) = (Arc::new(plan.clone()), Pipelined::plain(scheme));
        let over = ProtocolPlan::new(plan, protocol, self.collector.sealing());
        let observations = &mut Observations::default();
        let carried = (self.collector).carry(&mut self.nodes, &over, terms, watch, observations);
        Ok(carried?)
    }
}
