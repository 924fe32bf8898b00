//! A network of engines on simulated boards: the loop that hands events over.
//!
//! Owns the engines and the world below them. Time base: [`SimTime`]; each engine sees only its
//! own node's clock. Invariant: the contract's drain order, after every call into an engine. Same
//! environment, boards, engines, commands and seed: same bytes. Tests: `tests/whole.rs`.

use crate::background::BackgroundRuns;
use crate::board::Board;
use crate::capture::{Capture, CaptureError};
use crate::energy::Energy;
use crate::fault::Fault;
use crate::radio::Radio;
use crate::timeline::SpanHook;
use crate::trace::{AirHook, Stats, TraceHook, Watch};
use crate::world::{Next, World};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_engine::{drain, Engine, RadioId};
use thalweg_medium::{Environment, Medium};
use thalweg_units::{Instant, SimTime};

/// A network could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// Neither one board for all nodes nor one for each.
    #[error("{boards} boards for {nodes} nodes: give one for all, or one for each")]
    Boards {
        /// How many boards were given.
        boards: usize,
        /// How many engines were given.
        nodes: usize,
    },
    /// The environment has another number of radios.
    #[error(
        "the environment has {ears} radios, which does not suit {nodes} engines on their boards"
    )]
    Ears {
        /// Radios in the environment.
        ears: usize,
        /// How many engines were given.
        nodes: usize,
    },
    /// A board carries another chip than the environment's radio.
    #[error("node {node}: the board has a {board}, the environment a {ear}")]
    Chip {
        /// Which node.
        node: usize,
        /// The board's chip.
        board: &'static str,
        /// The environment's.
        ear: &'static str,
    },
}

/// A simulation could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// An engine asks for operations, or gives events, without end.
    #[error("node {node}: the engine asks for operations without end")]
    Livelock {
        /// Which.
        node: usize,
    },
    /// An engine's time-out stayed due after it was handled.
    #[error("node {node}: a time-out stayed due after it was handled")]
    StuckTimeout {
        /// Which.
        node: usize,
    },
    /// Engines keep each other busy without time going on.
    #[error("at {at}: events without end at one instant")]
    StandingStill {
        /// When.
        at: SimTime,
    },
    /// The packet capture failed; it is taken off.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

/// Why [`Network::run_until`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The deadline has come.
    Deadline,
    /// The observer wanted it.
    Observer,
    /// Nothing is left to happen, ever, unless somebody gives a command. The time is the deadline.
    Idle,
}

/// The network.
pub struct Network<E: Engine> {
    engines: Vec<E>,
    world: World,
    /// Events that the observer has not seen.
    told: VecDeque<(SimTime, usize, E::Event)>,
    failed: Option<SimError>,
}

impl<E: Engine> Network<E> {
    /// `engines` in `env`, each on its board: `boards` holds one for each node, or one for all.
    /// Time begins at zero, all radios asleep, and the engines are asked what they want.
    ///
    /// # Errors
    /// [`NetworkError`] where the numbers do not match.
    pub fn new(
        env: Arc<Environment>,
        boards: &[Board],
        engines: Vec<E>,
        seed: u64,
    ) -> Result<Self, NetworkError> {
        let nodes = engines.len();
        if boards.len() != 1 && boards.len() != nodes {
            return Err(NetworkError::Boards {
                boards: boards.len(),
                nodes,
            });
        }
        let each = boards
            .first()
            .map_or(1, |board| 1 + usize::from(board.second.is_some()));
        let alike = boards.iter().all(|b| b.second.is_some() == (each == 2));
        if env.ears.len() != each * nodes || !alike {
            return Err(NetworkError::Ears {
                ears: env.ears.len(),
                nodes,
            });
        }
        let mut radios = Vec::with_capacity(each * nodes);
        for which in 0..each {
            for (node, board) in (0..nodes).zip(boards.iter().cycle()) {
                let board = match which {
                    0 => board.clone(),
                    _ => board.with_second_radio(),
                };
                let ear = env.ears.get(which * nodes + node).map(|ear| ear.chip);
                if let Some(ear) = ear.filter(|ear| *ear != board.chip) {
                    let (board, ear) = (board.chip.name, ear.name);
                    return Err(NetworkError::Chip { node, board, ear });
                }
                radios.push(Radio::new(board, seed, node as u64, which as u64));
            }
        }
        let mut world = World::new(Medium::new(env, seed), radios, nodes);
        world.plan_background(seed);
        let mut network = Self {
            engines,
            world,
            told: VecDeque::new(),
            failed: None,
        };
        for n in 0..nodes {
            network.settle(n);
        }
        Ok(network)
    }

    /// The present.
    pub fn now(&self) -> SimTime {
        self.world.now
    }
    /// What node `n`'s clock reads at present.
    pub fn local_now(&self, n: usize) -> Instant {
        self.world.local(n)
    }
    /// What node `n`'s clock reads at `at`; for observers that compare nodes.
    pub fn local(&self, n: usize, at: SimTime) -> Instant {
        self.world.radio(n).read(at)
    }
    /// When node `n`'s clock first reads `local`.
    pub fn when(&self, n: usize, local: Instant) -> SimTime {
        self.world.radio(n).clock.when(local)
    }
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.engines.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.engines.is_empty()
    }
    /// The engine of node `n`.
    pub fn engine(&self, n: usize) -> &E {
        &self.engines[n]
    }
    /// The engine of node `n`, to look into or replace. What is changed so comes to effect after
    /// the next event of the node; a [`Network::command`] is the regular way.
    pub fn engine_mut(&mut self, n: usize) -> &mut E {
        &mut self.engines[n]
    }
    /// The board of node `n`.
    pub fn board(&self, n: usize) -> &Board {
        &self.world.radio(n).board
    }
    /// Time and energy of node `n` so far; of its radios, the first.
    pub fn energy(&self, n: usize) -> Energy {
        let radio = self.world.radio(n);
        radio.meter.read(self.world.now, radio.board.currents)
    }
    /// Energy that all radios and the microcontroller of node `n` have used so far, in joules.
    pub fn joules(&self, n: usize) -> f64 {
        let now = self.world.now;
        let read = |r: usize| {
            let radio = self.world.radio(r);
            radio.meter.read(now, radio.board.currents)
        };
        let all: f64 = self
            .world
            .radios_of(n)
            .map(|r| read(r).radio_joules())
            .sum();
        all + read(n).mcu_joules()
    }
    /// What became of the background work of node `n`.
    pub fn background(&self, n: usize) -> BackgroundRuns {
        self.world
            .mcus
            .get(n)
            .map_or_else(BackgroundRuns::default, |m| m.background)
    }
    /// Counts so far.
    pub fn stats(&self) -> Stats {
        self.world.stats
    }

    /// Gives an order to node `n`, now. A dead node does not hear it.
    pub fn command(&mut self, n: usize, command: E::Command) {
        if self.world.radio(n).dead {
            return;
        }
        let now = self.world.local(n);
        self.engines[n].handle_command(now, command);
        self.world.handled(n);
        self.settle(n);
    }
    /// From now on, `fault` holds for node `n`.
    pub fn fault(&mut self, n: usize, fault: Fault) {
        self.world.fault(n, fault);
    }
    /// From `at` on (from now on, where that has passed), `fault` holds for node `n`.
    pub fn fault_at(&mut self, at: SimTime, n: usize, fault: Fault) {
        self.world.plan_fault(at, n, fault);
    }
    /// Writes what is on the air from now on to `to`, instead of to what it was written to before,
    /// which is flushed.
    ///
    /// # Errors
    /// [`CaptureError`] where the capture that ends cannot be written out.
    pub fn capture(&mut self, to: Option<Box<dyn Capture>>) -> Result<(), CaptureError> {
        let before = std::mem::replace(&mut self.world.capture, to);
        before.map_or(Ok(()), |mut capture| capture.flush())
    }
    /// Calls `hook` with every reception from now on.
    pub fn trace(&mut self, hook: Option<TraceHook>) {
        self.world.trace = hook;
    }
    /// Calls `hook` with the beginning and the end of every frame from now on, and with what
    /// becomes of it at the receivers of `nodes`, also at those that do not hear it.
    pub fn watch(&mut self, nodes: &[usize], hook: AirHook) {
        self.world.watch = Some(Watch {
            nodes: nodes.to_vec(),
            hook,
            begins: Vec::new(),
            ends: Vec::new(),
        });
    }
    /// Calls `hook` with what radios and microcontrollers do from now on.
    pub fn spans(&mut self, hook: Option<SpanHook>) {
        self.world.spans = hook;
    }
    /// Ends [`Network::watch`].
    pub fn unwatch(&mut self) {
        self.world.watch = None;
    }
    /// The site.
    pub fn environment(&self) -> &Arc<Environment> {
        self.world.medium.environment()
    }

    /// Runs until `deadline`, which is then the present, or until `observer` breaks. It is given
    /// each event of the layer above: when, by which node, what; also those of commands given in
    /// between. After a break, what it has not seen is given first in the next run.
    ///
    /// # Errors
    /// [`SimError`]; the network can be looked at, but a run that follows may meet it again.
    pub fn run_until(
        &mut self,
        deadline: SimTime,
        mut observer: impl FnMut(SimTime, usize, E::Event) -> ControlFlow<()>,
    ) -> Result<Stop, SimError> {
        loop {
            while let Some((at, n, event)) = self.told.pop_front() {
                if observer(at, n, event).is_break() {
                    return Ok(Stop::Observer);
                }
            }
            if let Some(failed) = self.failed.take() {
                return Err(failed);
            }
            let next = self.world.next(deadline);
            if let Some(failed) = self.world.failed.take() {
                return Err(failed.into());
            }
            match next.map_err(|stuck| SimError::StandingStill { at: stuck.at })? {
                Next::Tell { radio, telling } => {
                    let node = self.world.node_of(radio);
                    let which = RadioId((radio / self.engines.len()) as u8);
                    let at = self.world.local(node);
                    let engine = &mut self.engines[node];
                    self.world
                        .told(telling, |event| engine.handle_radio(at, which, event));
                    self.world.handled(node);
                    self.settle(node);
                }
                Next::Timeout { node } => {
                    let at = self.world.local(node);
                    self.engines[node].handle_timeout(at);
                    self.world.handled(node);
                    if self.settle(node).is_some_and(|next| next <= at) {
                        return Err(SimError::StuckTimeout { node });
                    }
                }
                Next::Beyond => {
                    self.world.now = self.world.now.max(deadline);
                    return Ok(Stop::Deadline);
                }
                Next::Idle => {
                    self.world.now = self.world.now.max(deadline);
                    return Ok(Stop::Idle);
                }
            }
        }
    }

    /// Whether nothing is kept for anybody.
    #[cfg(test)]
    pub(crate) fn is_clean(&self) -> bool {
        self.world.is_clean()
    }

    /// Drains the engine of node `n`; its next time-out.
    fn settle(&mut self, n: usize) -> Option<Instant> {
        let Self {
            engines,
            world,
            told,
            failed,
        } = self;
        let now = world.now;
        let drained = drain(
            &mut engines[n],
            |request| world.submit(n, request),
            |event| told.push_back((now, n, event)),
        );
        match drained {
            Ok(timeout) => {
                world.set_timeout(n, timeout);
                timeout
            }
            Err(_livelock) => {
                *failed = Some(SimError::Livelock { node: n });
                None
            }
        }
    }
}
