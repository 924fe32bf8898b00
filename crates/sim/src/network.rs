//! A network of engines on simulated boards: the loop that hands events over.
//!
//! Owns the engines and the world below them. Time base: [`SimTime`]; each engine sees only its
//! own node's clock. Invariant: the contract's drain order, after every call into an engine. Same
//! air, boards, engines, commands and seed: same bytes. Tests: `tests/whole.rs`.

mod error;

use crate::board::Board;
use crate::capture::{Capture, CaptureError};
use crate::energy::Energy;
use crate::fault::Fault;
use crate::hooks::{AirHook, Aired, Observer, SpanHook, Stats, TraceHook, Watch};
use crate::mcu::BackgroundRuns;
use crate::radio::{caps, Radio};
use crate::world::{Next, World};
pub use error::{NetworkError, SimError};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use thalweg_engine::{Caps, Driver, Engine, Misfit, Port, RadioId, Request, Undrained};
use thalweg_medium::{Air, EarId, Environment, Medium};
use thalweg_units::{Instant, SimTime};

/// Why [`Network::run_until`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The deadline has come.
    Deadline,
    /// The observer wanted it.
    Observer,
    /// Nothing will happen any more without a command. The time is the deadline.
    Idle,
}

/// Makes the engine of a node that restarts, from the one that it had: to take over what is in flash, but not RAM.
pub type Remake<E> = Box<dyn FnMut(usize, &mut E) -> E + Send>;

/// The network: engines on boards, in the air `A`.
pub struct Network<E: Engine, A = Medium> {
    drivers: Vec<Driver<E>>,
    world: World<A>,
    remake: Option<Remake<E>>,
    /// Events that the observer has not seen.
    events: VecDeque<(SimTime, usize, E::Event)>,
    failed: Option<SimError>,
}

impl<E: Engine> Network<E> {
    /// `engines` in `env`, as [`Network::on`] has it.
    ///
    /// # Errors
    /// [`NetworkError`].
    pub fn new(
        env: Arc<Environment>,
        boards: &[Board],
        engines: Vec<E>,
        seed: u64,
    ) -> Result<Self, NetworkError> {
        Self::on(Medium::new(env, seed), boards, engines, seed)
    }
    /// The site.
    pub fn environment(&self) -> &Arc<Environment> {
        self.world.air.environment()
    }
}

impl<E: Engine, A: Air> Network<E, A> {
    /// `engines` in `air`, each on its board: `boards` holds one for each node, or one for all. The
    /// air's ears are the first radios of all nodes, then all second ones. Time begins at zero, all
    /// radios asleep, and the engines are asked what they want.
    ///
    /// # Errors
    /// [`NetworkError`] where the numbers do not match, or an engine wants what its radios do not do.
    pub fn on(air: A, boards: &[Board], engines: Vec<E>, seed: u64) -> Result<Self, NetworkError> {
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
        if air.ears() != each * nodes || !alike {
            return Err(NetworkError::Ears {
                ears: air.ears(),
                nodes,
            });
        }
        let mut radios = Vec::with_capacity(each * nodes);
        for which in 0..each {
            let boards: Vec<Arc<Board>> = (boards.iter())
                .map(|board| match which {
                    0 => Arc::new(board.clone()),
                    _ => Arc::new(board.with_second_radio()),
                })
                .collect();
            for (node, board) in (0..nodes).zip(boards.iter().cycle()) {
                let ear = air.chip(EarId((which * nodes + node) as u32));
                if let Some(ear) = ear.filter(|ear| **ear != *board.chip) {
                    let (board, ear) = (board.chip.name, ear.name);
                    return Err(NetworkError::Chip { node, board, ear });
                }
                let caps = caps(board, A::ABLE, air.channels());
                let board = Arc::clone(board);
                radios.push(Radio::new(board, seed, node as u64, which as u64, caps));
            }
        }
        let mut world = World::new(air, radios, nodes, seed);
        world.plan_background(seed);
        let mut drivers = Vec::with_capacity(nodes);
        for (node, engine) in engines.into_iter().enumerate() {
            let driver = drive(&mut world, node, engine);
            drivers.push(driver.map_err(|what| NetworkError::Misfit { node, what })?);
        }
        let mut network = Self {
            drivers,
            world,
            remake: None,
            events: VecDeque::new(),
            failed: None,
        };
        for n in 0..nodes {
            network.call(n, |driver, _, _| Some(driver.start()));
            network.answer();
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
        self.world.radios[n].read(at)
    }
    /// When node `n`'s clock first reads `local`.
    pub fn when(&self, n: usize, local: Instant) -> SimTime {
        self.world.radios[n].clock.when(local)
    }
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.drivers.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.drivers.is_empty()
    }
    /// The engine of node `n`.
    pub fn engine(&self, n: usize) -> &E {
        self.drivers[n].engine()
    }
    /// The engine of node `n`, to look into or replace. What is changed so comes to effect after
    /// the next event of the node; a [`Network::command`] is the regular way.
    pub fn engine_mut(&mut self, n: usize) -> &mut E {
        self.drivers[n].engine_mut()
    }
    /// The board of node `n`.
    pub fn board(&self, n: usize) -> &Board {
        &self.world.radios[n].board
    }
    /// Time and energy of node `n` so far; of its radios, the first.
    pub fn energy(&self, n: usize) -> Energy {
        let radio = &self.world.radios[n];
        radio.meter.read(self.world.now, &radio.board)
    }
    /// Energy that all radios and the microcontroller of node `n` have used so far, in joules.
    pub fn joules(&self, n: usize) -> f64 {
        let now = self.world.now;
        let read = |r: usize| {
            let radio = &self.world.radios[r];
            radio.meter.read(now, &radio.board)
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
        if self.world.radios[n].dead {
            return;
        }
        let now = self.world.now;
        self.world.radios[n].handles(now);
        self.call(n, |driver, _, now| Some(driver.command(now, command)));
        self.answer();
    }
    /// From now on, `fault` holds for node `n`.
    pub fn fault(&mut self, n: usize, fault: Fault) {
        self.world.fault(n, fault);
    }
    /// From `at` on (from now on, where that has passed), `fault` holds for node `n`.
    pub fn fault_at(&mut self, at: SimTime, n: usize, fault: Fault) {
        self.world.plan_fault(at, n, fault);
    }
    /// Sets what makes the engine of a node that restarts after [`Fault::Reboot`].
    pub fn restart_with(&mut self, engine: Remake<E>) {
        self.remake = Some(engine);
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
    /// Takes the capture off without ending it.
    pub fn take_capture(&mut self) -> Option<Box<dyn Capture>> {
        self.world.capture.take()
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
    /// The air.
    pub fn air(&self) -> &A {
        &self.world.air
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
        observer: impl FnMut(SimTime, usize, E::Event) -> ControlFlow<()>,
    ) -> Result<Stop, SimError> {
        self.run_with(deadline, &mut EventObserver(observer))
    }

    /// The same for an observer that sees frames too.
    ///
    /// # Errors
    /// As [`Network::run_until`].
    pub fn run_with(
        &mut self,
        deadline: SimTime,
        observer: &mut impl Observer<E::Event>,
    ) -> Result<Stop, SimError> {
        loop {
            while let Some((at, n, event)) = self.events.pop_front() {
                if observer.event(at, n, event).is_break() {
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
                Next::Notify { radio, notice } => self.deliver(radio, notice),
                Next::Timeout { node } => {
                    let now = self.world.now;
                    self.world.radios[node].handles(now);
                    self.call(node, |driver, _, at| Some(driver.timer(at)));
                }
                Next::Booted { node } => {
                    self.restart(node)?;
                    if observer.started(self.world.now, node).is_break() {
                        return Ok(Stop::Observer);
                    }
                }
                Next::Aired { frame, lost } => {
                    let world = &mut self.world;
                    if let Some(kept) = world.frames.get(frame) {
                        observer.aired(&Aired {
                            start: kept.start,
                            end: world.now,
                            from: world.node_of(kept.from),
                            to: kept.to.map(|to| world.node_of(to)),
                            channel: kept.channel,
                            kind: kept.kind,
                            mpdu: &kept.mpdu,
                            lost,
                        });
                    }
                    world.release(frame);
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

    /// Node `node` has booted: a new engine starts.
    fn restart(&mut self, node: usize) -> Result<(), SimError> {
        let make = self.remake.as_mut().ok_or(SimError::NoEngine { node })?;
        let engine = make(node, self.drivers[node].engine_mut());
        let driver = drive(&mut self.world, node, engine);
        self.drivers[node] = driver.map_err(|what| SimError::Misfit { node, what })?;
        self.call(node, |driver, _, _| Some(driver.start()));
        Ok(())
    }

    /// Delivers the notices of prompt boards.
    fn answer(&mut self) {
        loop {
            match self.world.next_prompt() {
                Ok(Some((radio, notice))) => self.deliver(radio, notice),
                Ok(None) => return,
                Err(stuck) => {
                    self.failed = Some(SimError::StandingStill { at: stuck.at });
                    return;
                }
            }
        }
    }

    fn deliver(&mut self, radio: usize, notice: u32) {
        let node = self.world.node_of(radio);
        let which = self.world.which(radio);
        self.call(node, |driver, world, at| {
            world.deliver(radio, notice, |event| driver.radio(at, which, event))
        });
    }

    /// Lets something happen to the engine of node `n`, and drains it.
    fn call(
        &mut self,
        n: usize,
        what: impl for<'a> FnOnce(&'a mut Driver<E>, &mut World<A>, Instant) -> Option<Undrained<'a, E>>,
    ) {
        let Self {
            drivers,
            world,
            events,
            failed,
            ..
        } = self;
        let at = world.local(n);
        let Some(undrained) = what(&mut drivers[n], world, at) else {
            return;
        };
        match undrained.drain(&mut NodePort { world, events, n }) {
            Ok(timeout) => world.set_timeout(n, timeout),
            Err(how) => *failed = Some(SimError::Livelock { node: n, how }),
        }
    }
}

/// The driver of `engine` on the radios of node `node`, set to what the engine wants.
fn drive<E: Engine, A: Air>(
    world: &mut World<A>,
    node: usize,
    engine: E,
) -> Result<Driver<E>, Misfit> {
    let radios: Vec<usize> = world.radios_of(node).collect();
    let caps: Vec<Caps> = radios.iter().map(|r| world.radios[*r].caps).collect();
    for (which, r) in radios.into_iter().enumerate() {
        if let Some(wants) = engine.wants(RadioId(which as u8)) {
            world.radios[r].take_on(&wants);
            world.filters[r].address = wants.address;
            if let Some(address) = wants.address {
                world.name(node, address);
            }
        }
    }
    Driver::new(engine, &caps)
}

/// Takes the operations and events of node `n`'s engine.
struct NodePort<'a, A, V> {
    world: &'a mut World<A>,
    events: &'a mut VecDeque<(SimTime, usize, V)>,
    n: usize,
}

impl<A: Air, V> Port<V> for NodePort<'_, A, V> {
    #[inline]
    fn submit(&mut self, request: Request<'_>) {
        self.world.submit(self.n, request);
    }
    #[inline]
    fn emit(&mut self, event: V) {
        self.events.push_back((self.world.now, self.n, event));
    }
}

/// An observer of events alone.
struct EventObserver<F>(F);

impl<V, F: FnMut(SimTime, usize, V) -> ControlFlow<()>> Observer<V> for EventObserver<F> {
    fn event(&mut self, at: SimTime, node: usize, event: V) -> ControlFlow<()> {
        (self.0)(at, node, event)
    }
}
