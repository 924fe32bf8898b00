//! A network, and what is asked of it. Tests: `tests/front_door.rs`.

use crate::error::Error;
use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow::{self, Continue};
use std::path::Path;
use std::sync::Arc;
use thalweg_host::collector::Report as PipelineReport;
use thalweg_host::job::Progress;
use thalweg_host::link_state::{LinkState, Planned};
use thalweg_host::registry::{self, Family, Hardware, OptionName, Pipelined, Protocol};
use thalweg_host::segments::LARGEST;
use thalweg_host::store::plain;
use thalweg_host::transfer::pipeline::{Order, Terms};
use thalweg_planner::Plan;
use thalweg_protocols::mote::Event;
use thalweg_simnet::collect::{self, Object, ProgressObserver, Remote};
use thalweg_simnet::fetch::{CollectRequest, Explain, Report, Surveyed};
use thalweg_simnet::streams;
use thalweg_testbeds::{Loss, Site, Testbed};
use thalweg_units::{Channel, Duration, NodeId};
use thalweg_wire::phy;
use thalweg_wire::pipeline::HEADER_BYTES;
use thalweg_wire::route::PayloadSize;

/// The object of the papers' experiments: 500 packets of 118 bytes.
pub const OBJECT_BYTES: u32 = 59_000;
/// The largest file that is read into memory to be sent.
pub const MAX_FILE: u64 = LARGEST as u64;
/// Object bytes in the largest packet: 127 less 7 of header and 2 of check sum.
pub const MAX_PAYLOAD: u8 = 118;

/// A testbed as a seed draws it, and what is asked of it. Nothing runs before one of [`Self::collect`], [`Self::survey`],
/// [`Self::plan`] or [`Self::remote`].
#[derive(Debug, Clone)]
pub struct Network {
    testbed: Arc<Testbed>,
    seed: u64,
    wish: CollectRequest,
    /// Object bytes in a packet, where somebody says.
    payload: Option<u8>,
    age: Option<Duration>,
    at: Option<Duration>,
    losses: Vec<Loss>,
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
    /// The same of a testbed that is there.
    pub fn of(testbed: impl Into<Arc<Testbed>>) -> Self {
        Self {
            testbed: testbed.into(),
            seed: 1,
            wish: CollectRequest {
                protocol: registry::default(),
                from: None,
                to: None,
                channels: None,
                payload: PayloadSize::MAX,
                paths: None,
                hops: None,
                object: Object::Random {
                    bytes: OBJECT_BYTES,
                },
            },
            payload: None,
            age: None,
            at: None,
            losses: Vec::new(),
        }
    }

    /// The seed of everything random; 1 unless somebody says.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
    /// What carries the object, such as `p3` (see [`registry::PROTOCOLS`]).
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
        let found = registry::named(name).ok_or_else(|| Error::Option {
            option: "protocol",
            why: why(),
        })?;
        Ok(self.carried_by(found))
    }
    /// What carries the object.
    #[must_use]
    pub fn carried_by(mut self, protocol: &'static Protocol) -> Self {
        self.wish.protocol = protocol;
        self
    }
    /// The node that has the object; a far one where `None`.
    #[must_use]
    pub fn from(mut self, node: Option<NodeId>) -> Self {
        self.wish.from = node;
        self
    }
    /// The base station; the testbed's where `None`.
    #[must_use]
    pub fn to(mut self, node: Option<NodeId>) -> Self {
        self.wish.to = node;
        self
    }
    /// The channels of the transfer; the planner picks where `None`.
    #[must_use]
    pub fn channels(mut self, channels: Option<Vec<Channel>>) -> Self {
        self.wish.channels = channels;
        self
    }
    /// Object bytes in a packet, 1 to [`MAX_PAYLOAD`]; as many as a frame of the protocol holds where `None`.
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
        self.wish.paths = most;
        self
    }
    /// Paths of exactly so many hops.
    #[must_use]
    pub fn hops(mut self, hops: Option<u8>) -> Self {
        self.wish.hops = hops;
        self
    }
    /// Time between survey and transfer; links change meanwhile.
    #[must_use]
    pub fn age(self, age: Option<Duration>) -> Self {
        Self { age, ..self }
    }
    /// The survey is so long after the beginning of a trace of several visits.
    #[must_use]
    pub fn at(self, at: Option<Duration>) -> Self {
        Self { at, ..self }
    }
    /// Links that lose a share of what is sent, after the survey.
    #[must_use]
    pub fn losses(self, losses: Vec<Loss>) -> Self {
        Self { losses, ..self }
    }
    /// What the source has.
    #[must_use]
    pub fn object(mut self, object: Object) -> Self {
        self.wish.object = object;
        self
    }
    /// The source has so many bytes, drawn from the seed and its name.
    #[must_use]
    pub fn random_object(self, bytes: u32) -> Self {
        self.object(Object::Random { bytes })
    }
    /// The source has what is in the file at `path`, as [`read_object`].
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
    /// What is asked of a network, in the form that [`thalweg_simnet`] takes.
    ///
    /// # Errors
    /// [`Error::Option`] for a payload that no packet holds.
    pub fn wish(&self) -> Result<CollectRequest, Error> {
        let asked = self.payload.unwrap_or(MAX_PAYLOAD);
        let payload = PayloadSize::new(asked);
        let payload = payload.ok_or_else(|| self.payload_holds(MAX_PAYLOAD))?;
        Ok(CollectRequest {
            payload,
            ..self.wish.clone()
        })
    }
    fn payload_holds(&self, most: u8) -> Error {
        Error::Option {
            option: "payload",
            why: format!(
                "a packet of {} holds 1 to {most} bytes",
                self.wish.protocol.name
            ),
        }
    }

    /// Whether the protocol has a use for `option`, which stands for `what`.
    ///
    /// # Errors
    /// [`Error::NotTaken`].
    pub fn takes(&self, option: &'static str, what: OptionName) -> Result<(), Error> {
        match self.wish.protocol.takes().contains(&what) {
            true => Ok(()),
            false => Err(Error::NotTaken {
                option,
                protocol: self.wish.protocol.name,
            }),
        }
    }
    /// Whether the protocol has a use for all that was said.
    ///
    /// # Errors
    /// [`Error::NotTaken`].
    pub fn check_options(&self) -> Result<(), Error> {
        let wish = &self.wish;
        let said = [
            (wish.paths.is_some(), "paths", OptionName::Paths),
            (wish.hops.is_some(), "hops", OptionName::Hops),
            (wish.channels.is_some(), "channels", OptionName::Channels),
            (!self.losses.is_empty(), "loss", OptionName::Loss),
            (self.age.is_some(), "age", OptionName::Age),
            (self.at.is_some(), "at", OptionName::Age),
        ];
        let said = said.into_iter().filter(|(is_said, ..)| *is_said);
        said.map(|(_, option, what)| self.takes(option, what))
            .collect()
    }

    /// The site on which it runs: the testbed's nodes as the seed draws them, so old, with the losses.
    ///
    /// # Errors
    /// [`Error`] of kind input.
    pub fn site(&self) -> Result<Site, Error> {
        let wish = self.wish()?;
        let testbed = match self.at {
            None => self.testbed.clone(),
            Some(at) => Arc::new(
                Testbed::clone(&self.testbed)
                    .surveyed_at(at)
                    .map_err(|why| Error::Option { option: "at", why })?,
            ),
        };
        let asked = wish.payload.bytes();
        let (site, psdu) = match wish.protocol.hardware() {
            Hardware::Synchronous | Hardware::Tree => {
                let psdu = HEADER_BYTES + usize::from(asked) + phy::FCS_BYTES;
                (Site::new(testbed, self.seed), psdu)
            }
            Hardware::TwoRadios => {
                let most = streams::payload(asked);
                if self.payload.is_some_and(|asked| asked > most) {
                    return Err(self.payload_holds(most));
                }
                let site = Site::with_all_radios(testbed, self.seed)?;
                (site, streams::psdu_bytes(asked))
            }
        };
        let site = match self.age {
            Some(age) => site.aged(age)?,
            None => site,
        };
        let site = site.with_losses(&self.losses, psdu)?;
        wish.check(&site.testbed)?;
        Ok(site)
    }

    /// Has the simulated network survey its links; objects of any of its nodes can then be fetched.
    ///
    /// # Errors
    /// [`Error`].
    pub fn survey(&self, observer: ProgressObserver<'_>) -> Result<Surveyed, Error> {
        self.check_options()?;
        Ok(self.wish()?.survey(self.site()?, observer)?)
    }

    /// Surveys the simulated network, plans, and fetches the object of `node`. A transfer that fails is a report, too.
    ///
    /// # Errors
    /// [`Error`] where nothing can be said of the transfer.
    pub fn collect(&self, node: u16) -> Result<Report, Error> {
        let node = NodeId::new(node).map_err(|why| Error::Option {
            option: "from",
            why: why.to_string(),
        })?;
        self.clone().from(Some(node)).run(&mut |_, _| Continue(()))
    }

    /// The same from the node that [`Self::from`] said, or a far one. `observer` is shown how far it is, and may stop it.
    ///
    /// # Errors
    /// As [`Self::collect`].
    pub fn run(
        &self,
        observer: &mut dyn FnMut(&str, Progress) -> ControlFlow<()>,
    ) -> Result<Report, Error> {
        let surveyed = self.survey(observer)?;
        let (report, _) = surveyed.fetch(&self.wish()?, None, Explain::Nothing, observer)?;
        Ok(report)
    }

    /// The protocol as a pipeline, which `what` asks for.
    ///
    /// # Errors
    /// [`Error::NotTaken`] for protocols of other families.
    pub fn pipeline(&self, what: &'static str) -> Result<Pipelined, Error> {
        match self.wish.protocol.family {
            Family::Pipeline(pipelined) => Ok(pipelined),
            _ => Err(Error::NotTaken {
                option: what,
                protocol: self.wish.protocol.name,
            }),
        }
    }

    /// The links as they are known for a plan: those of a file as it tells them, those of a simulated site as it measures
    /// them.
    ///
    /// # Errors
    /// [`Error`].
    pub fn known(&self, observer: ProgressObserver<'_>) -> Result<LinkState, Error> {
        let protocol = self.pipeline("plan")?;
        let CollectRequest {
            from, to, channels, ..
        } = &self.wish;
        collect::check(&self.testbed, (*from, *to))?;
        self.wish()?.ask(protocol).packets()?;
        let channels = channels.as_deref();
        if let Some(known) = collect::measured(&self.testbed, *to, channels, self.seed)? {
            return Ok(known);
        }
        let site = Site::new(self.testbed.clone(), self.seed);
        let surveyed = collect::Surveyed::open(site, (*to, protocol), channels, observer)?;
        Ok(surveyed.known().clone())
    }

    /// Plans the transfer over links as they are `known`: as the planner has it, and as people are told.
    ///
    /// # Errors
    /// [`Error`] of kind input where there is no route.
    pub fn plan(&self, known: &LinkState) -> Result<(Plan, Planned), Error> {
        let protocol = self.pipeline("plan")?;
        let ask = self.wish()?.ask(protocol);
        let plan = known.plan(&ask)?;
        // What is told is what will be sent: slim packets hold more.
        let terms = protocol.terms(Terms {
            payload: ask.payload,
            ..Terms::default()
        });
        let of = (ask.bytes, terms.payload.bytes());
        let planned = Planned::new(known, protocol.name, of, &plan);
        Ok((plan, planned))
    }

    /// The same job in the network behind `field`, whose base station is node `sink`: survey, plan, fetch. Transfers are
    /// numbered after `transfers`.
    ///
    /// # Errors
    /// [`Error`] where nothing can be said of the transfer.
    pub fn remote<F: thalweg_host::network::Network<Order = Order, Event = Event>>(
        &self,
        field: &mut F,
        (sink, transfers): (NodeId, u16),
        observer: ProgressObserver<'_>,
    ) -> Result<PipelineReport, Error> {
        let protocol = self.pipeline("port")?;
        let (wish, site) = (self.wish()?, self.site()?);
        let (ends, channels) = ((sink, protocol), wish.channels.as_deref());
        let mut remote = Remote::survey(field, &site, ends, channels, transfers, observer)?;
        Ok(remote.fetch(&wish.ask(protocol), observer)?)
    }
}

/// What is in the file at `path`, at most [`MAX_FILE`] bytes, to be sent.
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
