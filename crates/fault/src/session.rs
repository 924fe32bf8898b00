//! A session of RCRT as a step: all nodes send what they have, until it has come or the time is over.
//!
//! Time base: simulated time. Invariant: the base station is told of the end, however it comes. Tests: `run_tests.rs`.

use crate::breach::Breach;
use crate::network::Field;
use std::collections::BTreeMap;
use std::ops::ControlFlow::Continue;
use thalweg_host::job::{run, Failure};
use thalweg_host::network::{Clock, Network, NetworkFault, NetworkTime, Notice};
use thalweg_host::transfer::rcrt::{Gathered, Objects};
use thalweg_host::transfer::session::{Session, SessionRequest};
use thalweg_protocols::line::station::Event;
use thalweg_protocols::member::Command;
use thalweg_protocols::mote;
use thalweg_protocols::rcrt::sink::Config;
use thalweg_protocols::rcrt::{Handed, Send};
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::rcrt::Rate;
use thalweg_wire::FrameBuf;

/// What each node wants, packets per second.
const DEMAND: f64 = 4.0;
/// How long the base station may take to begin.
const BEGINS: Duration = Duration::from_secs(10);

/// The longest that a session may take once all is well, and how many there may be: a node that misses all calls to one takes no
/// part.
pub(crate) const CALM_SESSION: Duration = Duration::from_secs(300);
pub(crate) const CALM_SESSIONS: usize = 3;
/// How long a session may take beside its own time: to begin, and to end.
pub(crate) const SLACK: Duration = Duration::from_secs(20);

/// What came of a session, by node; or why there was none.
pub(crate) type Came = Result<Vec<Gathered>, String>;

/// Has all nodes but the base station send what they have, for at most `limit` once it has begun.
///
/// # Errors
/// [`Breach`] where the network cannot go on.
pub(crate) fn gather(field: &mut Field, limit: Duration) -> Result<Came, Breach> {
    let (station, sources) = (field.ids()[0], field.ids()[1..].to_vec());
    field.allow_session(field.now() + BEGINS + limit);
    let came = sit(field, station, &sources, limit);
    let stop = Command::Mote(mote::Command::Stop);
    let stopped = field.give(station, stop).map_err(Failure::from);
    match came.and_then(|came| stopped.map(|()| came)) {
        Ok(came) => Ok(Ok(came)),
        Err(why) => match (field.take_breach(), why) {
            (Some(breach), _) => Err(breach),
            (None, Failure::Network(why)) => Err(Breach::Stuck(why.to_string())),
            (None, why) => Ok(Err(why.to_string())),
        },
    }
}

fn sit(
    field: &mut Field,
    station: NodeId,
    sources: &[NodeId],
    limit: Duration,
) -> Result<Vec<Gathered>, Failure> {
    let rate = Rate::from_per_s(DEMAND).to_wire().to_le_bytes();
    let called = FrameBuf::build(|w| {
        for source in sources {
            w.u16(source.get())?.bytes(&rate)?;
        }
        Ok(())
    });
    let called = called.map_err(|why| Failure::Refused(why.to_string()))?;
    field.give(station, Command::Session(called))?;
    wait_for_it(field)?;
    let request = SessionRequest {
        sources: sources.iter().map(|source| source.get()).collect(),
        policy: "fair".to_owned(),
        demand: DEMAND,
        demands: BTreeMap::new(),
        duration_s: None,
    };
    let begins = field.now();
    let wanted = sources.iter().map(|source| (*source, None));
    let keeper = Objects::new(begins, wanted, |_| Continue(()));
    let (here, left) = ((station, begins), Some(limit));
    let job = Session::new(here, &request, left, Config::STEADY, keeper);
    let mut job = job.map_err(|why| Failure::Refused(why.to_string()))?;
    let ended = run(&mut Sitting(field), &mut job, &mut |_| Continue(()));
    let (objects, kept) = job.finish(field.now());
    ended.and(kept).map(|()| objects.finish())
}

/// Waits until the base station says that the session has begun.
fn wait_for_it(field: &mut Field) -> Result<(), Failure> {
    let until = field.now() + BEGINS;
    loop {
        match field.step(until)? {
            Notice::Event(_, _, Event::Begun) => return Ok(()),
            Notice::Event(_, _, Event::NotBegun(why)) => {
                return Err(Failure::Refused(format!("{why:?}")));
            }
            Notice::Restarted(by) => return Err(Failure::Restarted(by)),
            Notice::Silent(by) => return Err(Failure::Silent(by)),
            Notice::Cancelled => return Err(Failure::Cancelled),
            Notice::Nothing => return Err(Failure::NoEnd(BEGINS)),
            // Of an earlier order.
            Notice::Event(..) => {}
        }
    }
}

/// The network while a session lasts.
struct Sitting<'a>(&'a mut Field);

impl Clock for Sitting<'_> {
    fn when(&self, station: NodeId, local: Instant) -> NetworkTime {
        self.0.when(station, local)
    }
}

impl Network for Sitting<'_> {
    type Order = Send;
    type Event = Handed;

    fn now(&self) -> NetworkTime {
        self.0.now()
    }
    fn order(&mut self, station: NodeId, order: Send) -> Result<(), NetworkFault> {
        self.0.give(station, Command::Send(order))
    }
    fn next(&mut self, until: NetworkTime) -> Result<Notice<Handed>, NetworkFault> {
        loop {
            return Ok(match self.0.step(until)? {
                Notice::Event(at, by, Event::Handed(handed)) => Notice::Event(at, by, handed),
                Notice::Event(..) => continue,
                Notice::Restarted(by) => Notice::Restarted(by),
                Notice::Silent(by) => Notice::Silent(by),
                Notice::Cancelled => Notice::Cancelled,
                Notice::Nothing => Notice::Nothing,
            });
        }
    }
    fn take(&mut self, _station: NodeId, _len: usize) -> Result<Vec<u8>, NetworkFault> {
        // Packets are handed up at once.
        Ok(Vec::new())
    }
    fn joules(&mut self, node: NodeId) -> Option<f64> {
        self.0.joules(node)
    }
}
