//! The sans-I/O contract between protocol engines and their hosts.
//!
//! An [`Engine`] is a state machine that takes events stamped in its node's own clock and gives
//! back radio operations; it never reads a clock, draws entropy, blocks or allocates. A host (a
//! simulator, a mote's interrupt handlers, an async task, the test `harness`) says what its radios can
//! do ([`Caps`]), and drives the engine with a [`Driver`] into a [`Port`].
//! Invariant: every operation ends in exactly one answer. Time base: the node's [`Instant`].
//! `no_std`; the harness needs `std`.
//!
//! A host in thirty lines, around an engine that sends a beacon each second:
//! ```
//! # use thalweg_engine::{Cca, Engine, OpId, RadioOp, Wants, When};
//! # use thalweg_units::Channel;
//! # struct Beacon { due: Instant, sends: bool }
//! # impl Engine for Beacon {
//! #     type Command = ();
//! #     type Event = ();
//! #     fn wants(&self, radio: RadioId) -> Option<Wants> { (radio == RadioId(0)).then(|| Wants::of(&[])) }
//! #     fn handle_command(&mut self, _now: Instant, _command: ()) {}
//! #     fn handle_radio(&mut self, _at: Instant, _radio: RadioId, _event: RadioEvent<'_>) {}
//! #     fn handle_timeout(&mut self, _at: Instant) {
//! #         (self.due, self.sends) = (self.due + Duration::from_secs(1), true);
//! #     }
//! #     fn poll_radio(&mut self) -> Option<Request<'_>> {
//! #         let (mpdu, channel, when, cca) = (&[1, 2, 3], Channel::LAST, When::Now, Cca::Skip);
//! #         let op = RadioOp::Stream { mpdu, channel, when, cca };
//! #         core::mem::take(&mut self.sends).then(|| Request::new(OpId(1), op))
//! #     }
//! #     fn poll_timeout(&self) -> Option<Instant> { Some(self.due) }
//! #     fn poll_event(&mut self) -> Option<()> { None }
//! # }
//! # let beacon = Beacon { due: Instant::ZERO, sends: false };
//! use thalweg_engine::{Caps, Driver, Port, RadioEvent, RadioId, Request};
//! use thalweg_units::{Duration, Instant};
//!
//! /// A chip that has sent each frame a millisecond later, and what it is yet to report.
//! struct Chip { now: Instant, reports: Vec<(Instant, RadioEvent<'static>)>, frames: u32 }
//!
//! impl Port<()> for Chip {
//!     fn submit(&mut self, request: Request<'_>) {
//!         let (op, sfd) = (request.id, self.now + Duration::from_micros(352));
//!         self.frames += 1;
//!         self.reports.push((self.now + Duration::from_millis(1), RadioEvent::Sent { op, sfd }));
//!     }
//!     fn emit(&mut self, _event: ()) {}
//! }
//!
//! let mut chip = Chip { now: Instant::ZERO, reports: Vec::new(), frames: 0 };
//! let mut node = Driver::new(beacon, &[Caps::IDEAL]).expect("the chip does all that it wants");
//! let mut due = node.start().drain(&mut chip);
//! while chip.now < Instant::ZERO + Duration::from_secs(9) {
//!     // Here firmware sleeps until its radio or its timer wakes it: each cause has its call, and a drain after it.
//!     due = match (chip.reports.pop(), due.expect("an engine comes to rest")) {
//!         (Some((at, report)), _) => {
//!             chip.now = at;
//!             node.radio(at, RadioId(0), report).drain(&mut chip)
//!         }
//!         (None, Some(at)) => {
//!             chip.now = at;
//!             node.timer(at).drain(&mut chip)
//!         }
//!         (None, None) => break,
//!     };
//! }
//! assert_eq!(chip.frames, 10);
//! ```
#![no_std]

#[cfg(any(test, feature = "harness"))]
extern crate std;

mod caps;
mod driver;
mod radio;
#[cfg(any(test, feature = "harness"))]
mod test_support;
mod timing;

pub use caps::{Abilities, Ability, Caps, Lack, Misfit, Wants};
pub use driver::{drain, Driver, Livelock, Port, Undrained, MAX_OPS_PER_DRAIN};
pub use radio::{
    Activity, Answering, Assessment, Cca, Condition, Hear, OpId, RadioEvent, RadioId, RadioOp,
    Refusal, Request, TxSlot, When,
};
#[cfg(any(test, feature = "harness"))]
pub use test_support::harness;
pub use timing::{BoardTiming, Costs, Passing, PreCopy, Relaying, Software};

use thalweg_units::Instant;

/// A protocol as a state machine.
///
/// Drain order, after every `handle_*` call: `poll_radio` until `None` (each request is submitted
/// at once), then `poll_event` until `None`, then `poll_timeout` once; [`Driver`] does it.
/// Calls come with non-decreasing instants. After `handle_timeout(at)` and a drain,
/// `poll_timeout()` is `None` or later than `at`.
///
/// A sniffer that listens where it is ordered to and reports the length of each frame:
/// ```
/// use thalweg_engine::{Caps, Driver, Engine, OpId, RadioEvent, RadioId, RadioOp, Request, Wants};
/// use thalweg_units::{Channel, Instant};
///
/// #[derive(Default)]
/// struct Sniffer(Option<Channel>, Option<usize>);
///
/// impl Engine for Sniffer {
///     type Command = Channel;
///     type Event = usize;
///     fn wants(&self, radio: RadioId) -> Option<Wants> {
///         (radio == RadioId(0)).then(|| Wants::of(&[]))
///     }
///     fn handle_command(&mut self, _now: Instant, channel: Channel) {
///         self.0 = Some(channel);
///     }
///     fn handle_radio(&mut self, _at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
///         if let RadioEvent::Frame { mpdu, .. } = event {
///             self.1 = Some(mpdu.len());
///         }
///     }
///     fn handle_timeout(&mut self, _at: Instant) {}
///     fn poll_radio(&mut self) -> Option<Request<'_>> {
///         let (channel, head_bytes) = (self.0.take()?, 0);
///         Some(Request::new(OpId(1), RadioOp::Listen { channel, head_bytes }))
///     }
///     fn poll_timeout(&self) -> Option<Instant> {
///         None
///     }
///     fn poll_event(&mut self) -> Option<usize> {
///         self.1.take()
///     }
/// }
///
/// // The host: one radio, and a port that takes operations and events.
/// let mut node = Driver::new(Sniffer::default(), &[Caps::IDEAL]).expect("it wants nothing special");
/// let mut listens = false;
/// let mut port = (
///     |request: Request<'_>| listens = matches!(request.op, RadioOp::Listen { .. }),
///     |bytes: usize| println!("a frame of {bytes} bytes"),
/// );
/// let due = node.command(Instant::ZERO, Channel::FIRST).drain(&mut port);
/// assert_eq!(due, Ok(None));
/// assert!(listens);
/// ```
pub trait Engine {
    /// Orders from the layer above.
    type Command;
    /// Events for the layer above.
    type Event;

    /// What it wants of a radio of its node; none if it does not use that radio. Called once,
    /// before everything else: no later call changes it.
    fn wants(&self, radio: RadioId) -> Option<Wants>;

    /// Takes an order from the layer above.
    fn handle_command(&mut self, now: Instant, command: Self::Command);
    /// Takes what a radio of this node reports.
    fn handle_radio(&mut self, at: Instant, radio: RadioId, event: RadioEvent<'_>);
    /// The instant that `poll_timeout` named has come.
    fn handle_timeout(&mut self, at: Instant);
    /// The next radio operation wanted, until `None`.
    fn poll_radio(&mut self) -> Option<Request<'_>>;
    /// When this engine next wants [`Engine::handle_timeout`], in its node's clock.
    fn poll_timeout(&self) -> Option<Instant>;
    /// The next event for the layer above, until `None`.
    fn poll_event(&mut self) -> Option<Self::Event>;
}
