//! A simulated network whose base station is behind a line, as a real one would be: only its own orders and events cross
//! the line.
//!
//! Time base: the network's, which follows the wall clock times a factor as far as the computer keeps up. Invariants: the
//! queue for the line is bounded; the network waits for it, but with a line speed set, object bytes without room are
//! refused. Not modelled: a processor that line and radio share. Tests: `tests/all/line/`.

mod about;
mod outbox;
mod session;
mod store;
mod stream;

pub use stream::{Listener, Pty};

use crate::battery::Powered;
use crate::collect::Object;
use crate::motes::{check_pipelines, flood_config, RunError};
use crate::offers::{Change, Offers};
use about::about;
use outbox::Outbox;
use session::Session;
use std::io;
use std::ops::ControlFlow::{Break, Continue};
use std::sync::Arc;
use std::time::{Duration as WallDuration, Instant as Wall};
use store::StationStore;
use thalweg_host::line::Stream;
use thalweg_host::network::NetworkFault;
use thalweg_host::security::NetworkKeys;
use thalweg_host::transfer::pipeline::{Order, MAX_NODES};
use thalweg_protocols::line::desk::{Desk, Wanted};
use thalweg_protocols::line::station::{max_order_bytes, Event, NotBegun, Order as LineOrder};
use thalweg_protocols::mote::{Command, Mote};
use thalweg_protocols::seals::Seals;
use thalweg_sim::{Network, SimError};
use thalweg_testbeds::Site;
use thalweg_units::{Duration, Instant, NodeId, SimTime};
use thalweg_wire::host::{About, MAX_STUFFED};
use thalweg_wire::rcrt::Rate;
use thalweg_wire::seal::SoftwareAes;

/// Events that wait for the line; beyond, the network stands still.
const QUEUE: usize = 4_096;
/// Packets of a session that wait for the line; beyond, they are lost.
const PACKETS: usize = 256;
/// The longest that the line waits for the network.
const TURN: WallDuration = WallDuration::from_millis(10);
/// How long a read waits for bytes.
const READ: WallDuration = WallDuration::from_millis(2);
/// A computer this far behind does not catch up.
const BEHIND: WallDuration = WallDuration::from_millis(100);
/// At most so much waits to be written, so that acknowledgements are fresh.
const OUT: usize = 4 * MAX_STUFFED;

type Node = Mote<StationStore, 160, MAX_NODES, Option<Seals<SoftwareAes>>>;
/// The most bytes of an order.
const ORDER: usize = max_order_bytes(MAX_NODES);

/// Why a simulated base station stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaseStationError {
    /// The simulator failed.
    #[error("simulation: {0}")]
    Sim(#[from] SimError),
    /// A session's network failed.
    #[error("simulation: {0}")]
    Session(#[from] NetworkFault),
    /// The line failed.
    #[error("the line: {0}")]
    Line(#[from] io::Error),
}

/// The settings of a base station, beside its site.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Its node; the testbed's sink where none is named.
    pub node: Option<NodeId>,
    /// The object that every other node offers.
    pub object: Object,
    /// Seconds of the network in one of the wall clock, above 0.
    pub speed: f64,
    /// The speed of its line in baud, ten to a byte, by the network's time; none for one that the network waits for.
    pub baud: Option<u32>,
    /// Object bytes that it keeps while the line is busy: beyond, packets are refused, or the network waits.
    pub room_bytes: u32,
    /// Different for each start.
    pub boot: u32,
    /// The keys of its nodes, where the network is secured.
    pub keys: Option<Arc<NetworkKeys>>,
}

/// A network and its base station.
pub struct BaseStation {
    net: Network<Node>,
    powered: Option<Powered>,
    node: usize,
    speed: f64,
    baud: Option<u32>,
    room: usize,
    opened: Wall,
    /// A wall time, and the network's time then.
    since: (Wall, SimTime),
    desk: Desk<ORDER, MAX_NODES>,
    outbox: Outbox,
    /// What other nodes offer, and which of them have it in memory.
    object: Object,
    offers: Offers,
    site: Site,
    session: Option<Session>,
    is_secured: bool,
    out: Vec<u8>,
    /// When the line was paid for last, and bytes that it may take now.
    paid: Wall,
    credit: f64,
}

impl BaseStation {
    /// Switches the nodes of `site` on; all but the base station have an object, made when an order fetches it.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn open(site: &Site, setup: &Setup) -> Result<Self, RunError> {
        let (testbed, board) = (&site.testbed, &site.board);
        let nodes = testbed.len();
        if nodes > MAX_NODES {
            return Err(RunError::TooManyNodes { nodes });
        }
        let named = |lack| RunError::Board(testbed.board_name.clone(), lack);
        check_pipelines(board).map_err(named)?;
        let id = setup.node.unwrap_or(testbed.sink);
        let node = testbed.index_of(id).unwrap_or(testbed.sink_index());
        let config = flood_config(site);
        let engines = testbed.nodes.iter().map(|at| {
            let store = match at.id == id {
                true => StationStore::spooling(match setup.baud {
                    Some(_) => setup.room_bytes as usize,
                    None => usize::MAX,
                }),
                false => StationStore::offering(setup.keys.as_ref().map(|keys| keys.proof(at.id))),
            };
            let seals = setup.keys.as_ref().map(|keys| keys.seals());
            Node::guarded((at.id, seals), config, board.timing, store)
        });
        let engines = engines.collect();
        let boards = std::slice::from_ref(board);
        let seed = thalweg_medium::random::derive(site.seed, "base station", &[]);
        let net = Network::new(site.environment.clone(), boards, engines, seed)?;
        let about = about(site, setup, id);
        let now = Wall::now();
        Ok(Self {
            net,
            powered: Powered::of(site),
            node,
            speed: setup.speed,
            baud: setup.baud,
            room: setup.room_bytes as usize,
            opened: now,
            since: (now, SimTime::ZERO),
            desk: Desk::new(about, Instant::ZERO),
            outbox: Outbox::default(),
            object: setup.object.clone(),
            offers: Offers::default(),
            site: site.clone(),
            session: None,
            is_secured: setup.keys.is_some(),
            out: Vec::new(),
            paid: now,
            credit: 0.0,
        })
    }

    /// Its greeting.
    pub const fn about(&self) -> &About {
        self.desk.about()
    }
    /// The network's time.
    pub fn now(&self) -> SimTime {
        self.net.now()
    }

    /// Serves the host at the other end of `line`, until `stop` says so.
    ///
    /// # Errors
    /// [`BaseStationError`].
    pub fn run(
        &mut self,
        line: &mut dyn Stream,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), BaseStationError> {
        while !stop() {
            self.advance()?;
            self.desk.timeout(self.line_now());
            self.fill_window();
            self.write(line)?;
            let mut room = [0; 2_048];
            let len = line.read(&mut room, READ)?;
            self.read(&room[..len])?;
        }
        Ok(())
    }

    /// The line's time: it goes by the wall, however fast the network is.
    fn line_now(&self) -> Instant {
        Instant::from_nanos(u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Lets the network follow the wall clock.
    fn advance(&mut self) -> Result<(), BaseStationError> {
        let began = Wall::now();
        let real = began.duration_since(self.since.0).as_secs_f64();
        let target = self.since.1 + Duration::from_secs_f64(real * self.speed);
        let step = Duration::from_secs_f64(0.001 * self.speed);
        while self.net.now() < target && began.elapsed() < TURN && self.has_room() {
            let until = (self.net.now() + step).min(target);
            self.run_network(until)?;
        }
        let behind = Duration::from_secs_f64(BEHIND.as_secs_f64() * self.speed);
        if self.net.now() + behind < target {
            self.since = (Wall::now(), self.net.now());
        }
        Ok(())
    }

    /// Whether there is room for the network's next events.
    fn has_room(&mut self) -> bool {
        if !self.desk.is_up() {
            // There is no host.
            self.begin();
        }
        let store = self.net.engine_mut(self.node).store_mut();
        let fits = self.baud.is_some() || store.used() < self.room;
        fits && self.outbox.len() < QUEUE
    }

    fn run_network(&mut self, until: SimTime) -> Result<(), BaseStationError> {
        loop {
            let (mut reported, station) = (None, self.node);
            self.net.run_until(until, |at, node, event| {
                if node != station {
                    return Continue(());
                }
                reported = Some((at, event));
                Break(())
            })?;
            // What the node wrote before this event goes first.
            let pieces = self.net.engine_mut(station).store_mut().take();
            self.outbox.add_pieces(pieces);
            match reported {
                Some((at, event)) => self.report(at, Event::Mote(event)),
                None => break,
            }
        }
        while let Some(session) = &mut self.session {
            match session.next(until)? {
                Some((at, handed)) if self.outbox.len() < PACKETS => {
                    self.report(at, Event::Handed(handed));
                }
                Some(_) => {}
                None => break,
            }
        }
        Ok(())
    }

    /// Queues `event`, which came at `at` of the network's time, for the host.
    fn report(&mut self, at: SimTime, event: Event) {
        let at = self.net.local(self.node, at);
        self.outbox.add_event(at, &event);
    }

    /// Sends messages while the window has room.
    fn fill_window(&mut self) {
        self.desk.fill_window(&mut self.outbox);
        let store = self.net.engine_mut(self.node).store_mut();
        store.gone(self.outbox.take_gone());
    }

    fn write(&mut self, line: &mut dyn Stream) -> io::Result<()> {
        let now = self.line_now();
        let mut frame = [0; MAX_STUFFED];
        loop {
            while self.out.len() < OUT {
                match self.desk.transmit(now, &mut frame) {
                    0 => break,
                    len => self.out.extend_from_slice(&frame[..len]),
                }
            }
            let may = self.may_write();
            if may == 0 {
                return Ok(());
            }
            let len = line.write(&self.out[..may])?;
            self.credit -= len as f64;
            self.out.drain(..len);
            if len < may {
                return Ok(());
            }
        }
    }

    /// How much the line takes now.
    fn may_write(&mut self) -> usize {
        let Some(baud) = self.baud else {
            return self.out.len();
        };
        let passed = self.paid.elapsed().as_secs_f64() * self.speed;
        self.paid = Wall::now();
        let rate = f64::from(baud) / 10.0;
        // Unused line time is lost, but for two turns of this loop.
        let most = (rate * TURN.as_secs_f64() * self.speed * 2.0).max(MAX_STUFFED as f64);
        self.credit = (self.credit + passed * rate).min(most);
        self.out.len().min(self.credit as usize)
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), NetworkFault> {
        let mut rest = bytes;
        loop {
            let (now, net, node) = (self.line_now(), &self.net, self.node);
            let wanted = self.desk.receive(now, &mut rest, || net.local_now(node));
            match wanted {
                None => return Ok(()),
                Some(Wanted::Fresh) => self.begin(),
                Some(Wanted::Order(LineOrder::Mote(command))) => {
                    self.session = None;
                    self.carry_out(command);
                }
                Some(Wanted::Order(LineOrder::Session(sources))) => {
                    let sources: Vec<_> = sources.iter().collect();
                    self.begin_session(&sources);
                }
                // One for a session that has ended is dropped.
                Some(Wanted::Order(LineOrder::Send(send))) => {
                    if let Some(session) = &mut self.session {
                        session.send(send)?;
                    }
                }
            }
        }
    }

    /// Drops what waits for an earlier host, and ends its session.
    fn begin(&mut self) {
        self.outbox.clear();
        self.session = None;
        self.net.engine_mut(self.node).store_mut().clear();
    }

    fn begin_session(&mut self, sources: &[(NodeId, Rate)]) {
        self.session = None;
        self.carry_out(Command::Stop);
        let now = self.net.now();
        let here = (&self.site, self.about().node);
        let begun = match self.is_secured {
            true => Err(NotBegun::NotCarried),
            false => Session::begin(here, sources, &self.object, now),
        };
        let event = match begun {
            Ok(session) => {
                self.session = Some(session);
                Event::Begun
            }
            Err(why) => Event::NotBegun(why),
        };
        self.report(now, event);
    }

    fn carry_out(&mut self, command: Order) {
        for change in self.offers.change(&command) {
            let (Change::Offer(id) | Change::Withdraw(id)) = change;
            // A source that the network does not have offers nothing.
            let Some(node) = self.site.testbed.index_of(id).filter(|n| *n != self.node) else {
                continue;
            };
            let object = match change {
                Change::Offer(_) => Some(self.object.of(self.site.seed, id)),
                Change::Withdraw(_) => None,
            };
            self.net.engine_mut(node).store_mut().offers(object);
        }
        if let Some(powered) = &self.powered {
            powered.measure(&mut self.net);
        }
        self.net.command(self.node, command);
    }
}
