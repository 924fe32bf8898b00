//! A network and the request to it. Tests: `tests/all/front_door.rs`.

mod work;

use crate::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use thalweg_host::collector::Patience;
use thalweg_host::registry::{self, OptionName, Protocol};
use thalweg_host::segments::LARGEST;
use thalweg_host::store::plain;
use thalweg_planner::Plan;
use thalweg_simnet::collect::Object;
use thalweg_simnet::fetch::CollectRequest;
use thalweg_testbeds::{Loss, Testbed};
use thalweg_units::{Channel, Duration, NodeId};
use thalweg_wire::route::PayloadSize;
use thalweg_wire::seal::frame::Sealing;

/// The object of the papers' experiments: 500 packets of 118 bytes.
pub const OBJECT_BYTES: u32 = 59_000;
/// The largest file that is read into memory to be sent.
pub const MAX_FILE: u64 = LARGEST as u64;
/// Object bytes in the largest packet: 127 less 7 of header and 2 of check sum.
pub const MAX_PAYLOAD: u8 = 118;

/// A testbed as a seed draws it, and a request to it. Nothing runs before one of [`Self::collect`], [`Self::survey`],
/// [`Self::plan`] or [`Self::remote`].
#[derive(Debug, Clone)]
pub struct Network {
    testbed: Arc<Testbed>,
    seed: u64,
    request: CollectRequest,
    /// Object bytes in a packet; without, as many as fit.
    payload: Option<u8>,
    age: Option<Duration>,
    idle: Option<Duration>,
    patience: Option<Duration>,
    at: Option<Duration>,
    losses: Vec<Loss>,
    sealing: Sealing,
}

impl Network {
    /// The network `name`: a built-in testbed, or a file (testbed TOML, K7 trace, CSV of links). An object of
    /// [`OBJECT_BYTES`] random bytes travels by `thalweg`, the default protocol, from a far node to the testbed's sink.
    ///
    /// # Errors
    /// [`Error::Testbed`].
    pub fn open(name: &str) -> Result<Self, Error> {
        Ok(Self::of(Testbed::load(name)?))
    }
    /// The same of a loaded testbed.
    pub fn of(testbed: impl Into<Arc<Testbed>>) -> Self {
        Self {
            testbed: testbed.into(),
            seed: 1,
            request: CollectRequest {
                protocol: registry::default(),
                from: None,
                to: None,
                channels: None,
                payload: PayloadSize::MAX,
                paths: None,
                hops: None,
                patience: Patience::DEFAULT,
                object: Object::Random {
                    bytes: OBJECT_BYTES,
                },
                plan: None,
            },
            payload: None,
            age: None,
            idle: None,
            patience: None,
            at: None,
            losses: Vec::new(),
            sealing: Sealing::Open,
        }
    }

    /// The seed of everything random; 1 by default.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
    /// The protocol by name, such as `p3` (see [`registry::PROTOCOLS`]).
    ///
    /// # Errors
    /// [`Error::Option`] where no protocol has that name.
    pub fn protocol(self, name: &str) -> Result<Self, Error> {
        let why = || {
            let names: Vec<&str> = registry::PROTOCOLS.iter().map(|p| p.name).collect();
            format!(
                "no protocol is called {name:?}; there are {}",
                names.join(", ")
            )
        };
        let protocol = registry::named(name).ok_or_else(|| Error::Option {
            option: "protocol",
            why: why(),
        })?;
        Ok(self.carried_by(protocol))
    }
    /// The protocol.
    #[must_use]
    pub fn carried_by(mut self, protocol: &'static Protocol) -> Self {
        self.request.protocol = protocol;
        self
    }
    /// The node that has the object; `None` for a far one.
    #[must_use]
    pub fn from(mut self, node: Option<NodeId>) -> Self {
        self.request.from = node;
        self
    }
    /// The base station; `None` for the testbed's sink.
    #[must_use]
    pub fn to(mut self, node: Option<NodeId>) -> Self {
        self.request.to = node;
        self
    }
    /// The channels of the transfer; `None` leaves them to the planner.
    #[must_use]
    pub fn channels(mut self, channels: Option<Vec<Channel>>) -> Self {
        self.request.channels = channels;
        self
    }
    /// The control channel, on which floods go and idle nodes listen; `None` for the testbed's.
    ///
    /// # Errors
    /// [`Error::Option`] where links were measured and none on that channel.
    pub fn control_channel(mut self, control: Option<Channel>) -> Result<Self, Error> {
        if let Some(control) = control {
            let testbed = Testbed::clone(&self.testbed).flooding_on(control);
            self.testbed = Arc::new(testbed.map_err(|why| Error::Option {
                option: "control-channel",
                why,
            })?);
        }
        Ok(self)
    }
    /// Object bytes in a packet, 1 to [`MAX_PAYLOAD`]; `None` for as many as a frame of the protocol holds.
    #[must_use]
    pub fn payload(self, bytes: Option<u8>) -> Self {
        Self {
            payload: bytes,
            ..self
        }
    }
    /// At most so many node-distinct paths.
    #[must_use]
    pub fn paths(mut self, most: Option<u8>) -> Self {
        self.request.paths = most;
        self
    }
    /// Paths of exactly so many hops.
    #[must_use]
    pub fn hops(mut self, hops: Option<u8>) -> Self {
        self.request.hops = hops;
        self
    }
    /// Time between survey and transfer; links change meanwhile.
    #[must_use]
    pub fn age(self, age: Option<Duration>) -> Self {
        Self { age, ..self }
    }
    /// For how long the network has been idle; its nodes sleep then. `None` for nodes that have just been switched on and
    /// listen.
    #[must_use]
    pub fn idle(self, idle: Option<Duration>) -> Self {
        Self { idle, ..self }
    }
    /// How long links are measured again for a node to which no route leads, or none that serves; `None` for
    /// [`Patience::DEFAULT`].
    #[must_use]
    pub fn patience(self, patience: Option<Duration>) -> Self {
        Self { patience, ..self }
    }
    /// Whether the simulated nodes have keys, drawn from the seed: then orders, requests and NACKs are sealed, and objects
    /// travel encrypted (docs/security.md).
    #[must_use]
    pub fn secured(self, sealing: Sealing) -> Self {
        Self { sealing, ..self }
    }
    /// When the survey is, after the beginning of a trace of several visits.
    #[must_use]
    pub fn at(self, at: Option<Duration>) -> Self {
        Self { at, ..self }
    }
    /// Links that lose a share of their frames, after the survey.
    #[must_use]
    pub fn losses(self, losses: Vec<Loss>) -> Self {
        Self { losses, ..self }
    }
    /// The source's object.
    #[must_use]
    pub fn object(mut self, object: Object) -> Self {
        self.request.object = object;
        self
    }
    /// The transfer goes by `plan`, which was made for this network ([`Self::plan`], [`Self::plan_over`]) and this object;
    /// without one, by the network's own. Where it breaks off, protocols that take another plan then take their own.
    #[must_use]
    pub fn going_by(mut self, plan: Option<Arc<Plan>>) -> Self {
        self.request.plan = plan;
        self
    }
    /// The source has so many random bytes, drawn from the seed and its id.
    #[must_use]
    pub fn random_object(self, bytes: u32) -> Self {
        self.object(Object::Random { bytes })
    }
    /// The source has the file at `path`, as [`read_object`].
    ///
    /// # Errors
    /// As [`read_object`].
    pub fn file(self, path: &Path) -> Result<Self, Error> {
        Ok(self.object(read_object(path)?))
    }

    /// The testbed.
    pub fn testbed(&self) -> &Arc<Testbed> {
        &self.testbed
    }
    /// The request as it is set.
    pub(crate) const fn request_ref(&self) -> &CollectRequest {
        &self.request
    }
    pub(crate) const fn seed_value(&self) -> u64 {
        self.seed
    }
    pub(crate) const fn sealing(&self) -> Sealing {
        self.sealing
    }
    pub(crate) fn link_losses(&self) -> &[Loss] {
        &self.losses
    }
    pub(crate) const fn payload_bytes(&self) -> Option<u8> {
        self.payload
    }
    /// The request in the form that [`thalweg_simnet`] takes.
    ///
    /// # Errors
    /// [`Error::Option`] for a payload that no packet holds.
    pub fn request(&self) -> Result<CollectRequest, Error> {
        let payload = PayloadSize::new(self.payload.unwrap_or(MAX_PAYLOAD));
        let payload = payload.ok_or_else(|| self.payload_holds(MAX_PAYLOAD))?;
        Ok(CollectRequest {
            payload,
            patience: self.patience.map_or(Patience::DEFAULT, Patience::of),
            ..self.request.clone()
        })
    }
    fn payload_holds(&self, most: u8) -> Error {
        Error::Option {
            option: "payload",
            why: format!(
                "a packet of {} holds 1 to {most} bytes",
                self.request.protocol.name
            ),
        }
    }

    /// Checks that the protocol takes `option`, which stands for `what`.
    ///
    /// # Errors
    /// [`Error::NotTaken`].
    pub fn takes(&self, option: &'static str, what: OptionName) -> Result<(), Error> {
        match self.request.protocol.takes().contains(&what) {
            true => Ok(()),
            false => Err(Error::NotTaken {
                option,
                protocol: self.request.protocol.name,
            }),
        }
    }
    /// Checks that the protocol takes all options that are set.
    ///
    /// # Errors
    /// [`Error::NotTaken`].
    pub fn check_options(&self) -> Result<(), Error> {
        let request = &self.request;
        let set = [
            (request.paths.is_some(), "paths", OptionName::Paths),
            (request.hops.is_some(), "hops", OptionName::Hops),
            (request.channels.is_some(), "channels", OptionName::Channels),
            (!self.losses.is_empty(), "loss", OptionName::Loss),
            (self.age.is_some(), "age", OptionName::Age),
            (self.at.is_some(), "at", OptionName::Age),
            (self.idle.is_some(), "idle", OptionName::Idle),
            (self.patience.is_some(), "patience", OptionName::Patience),
            (
                self.sealing == Sealing::Sealed,
                "secure",
                OptionName::Secure,
            ),
        ];
        let mut set = set.into_iter().filter(|(is_set, ..)| *is_set);
        set.try_for_each(|(_, option, what)| self.takes(option, what))
    }
}

/// The file at `path` as an object, at most [`MAX_FILE`] bytes.
///
/// # Errors
/// [`Error::Input`] where it is empty, too large or cannot be read.
pub fn read_object(path: &Path) -> Result<Object, Error> {
    let named = |what: &str| Error::Input(format!("{}: {what}", path.display()));
    let unreadable = |error: std::io::Error| named(&format!("cannot be read: {}", plain(&error)));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    match bytes.len() as u64 {
        0 => Err(named("is empty; there is nothing to send")),
        length if length > MAX_FILE => Err(named("is larger than 64 MiB")),
        _ => Ok(Object::Bytes(Arc::from(bytes))),
    }
}
