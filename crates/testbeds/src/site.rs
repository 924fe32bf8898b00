//! Sites: a testbed as a seed realises it, with injected losses. Everything that runs
//! runs on one.
//!
//! Invariants: the same testbed, board and seed give the same site; losses befall what comes after
//! [`Site::with_losses`], never what runs on [`Site::undisturbed`], which is where time begins.
//! Tests: `site_tests.rs`.

use crate::loss::{Loss, Losses};
use crate::testbed::{Physics, Testbed};
use std::sync::Arc;
use thalweg_medium::chip::{Band, Chip};
use thalweg_medium::random::derive;
use thalweg_medium::{BuildingModel, Change, EarId, Environment, MeasuredFrame, MeasuredLink};
use thalweg_sim::Board;
use thalweg_units::{Channel, Db, Dbm, Duration, NodeId};
use thalweg_wire::seal::frame::Sealing;

/// Path loss at one metre is less in the 900 MHz band by 20 log10(2440 / 915).
const LESS_AT_900: Db = Db(8.5);

/// How long before a transfer its links were surveyed by default: P3's 400 s from the first beacon to the
/// last of 100 objects (section IV-D), on average.
pub const AGE: Duration = Duration::from_secs(300);

/// A testbed as a seed realises it.
#[derive(Debug, Clone)]
pub struct Site {
    /// Its nodes, channels and sink.
    pub testbed: Arc<Testbed>,
    /// The board of every node.
    pub board: Board,
    /// What drew whatever the testbed leaves open: places, links, the radios' spread.
    pub seed: u64,
    /// Its ears: the first radio of each node, by node, then the second ones where the board has any.
    pub environment: Arc<Environment>,
    /// The losses that were injected.
    pub losses: Losses,
    /// How much later than [`Site::undisturbed`] it is.
    age: Duration,
    /// For how long its nodes have been idle, and asleep; none where they listen all the time.
    idle: Option<Duration>,
    /// Whether its nodes have keys, and act on nothing that is not sealed.
    sealing: Sealing,
    /// The environment before losses and time.
    calm: Arc<Environment>,
}

/// Why a testbed cannot be such a site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// Its links are those of another radio, or of one where the board has two: testbed, the radio that
    /// they were measured with, the board that its nodes were to be.
    #[error("{0}: its links were measured with one {1}; board {2} has other radios")]
    Radios(String, &'static str, String),
    /// A loss at a node that the testbed does not have, or of an address that no node hears: testbed, sender,
    /// receiver, and what is wrong.
    #[error("{0}: loss on {1}-{2}: {3}")]
    Loss(String, NodeId, NodeId, String),
}

impl Site {
    /// `testbed` as `seed` draws it, with the first radio of its board.
    pub fn new(testbed: impl Into<Arc<Testbed>>, seed: u64) -> Self {
        let testbed = testbed.into();
        let board = testbed.board.clone().with_one_radio();
        let environment = realised(&testbed, board.chip, (Which::First, seed), Duration::ZERO);
        Self::of_parts(testbed, board, environment, seed)
    }

    /// The same with all radios of its board.
    pub fn with_all_radios(testbed: impl Into<Arc<Testbed>>, seed: u64) -> Result<Self, SiteError> {
        let testbed = testbed.into();
        let board = testbed.board.clone();
        Self::on(testbed, board, seed)
    }

    /// `testbed` as `seed` draws it, with `board` and all radios that it has at every node. Where a board
    /// has two, both bands have the same places and walls; foreign traffic is that of 2.4 GHz, where
    /// Wi-Fi is.
    ///
    /// # Errors
    /// [`SiteError::Radios`] where links were measured with others.
    pub fn on(
        testbed: impl Into<Arc<Testbed>>,
        board: Board,
        seed: u64,
    ) -> Result<Self, SiteError> {
        let testbed = testbed.into();
        let known = testbed.board.chip;
        if testbed.model().is_none() && (board.second.is_some() || board.chip != known) {
            let name = testbed.name.clone();
            return Err(SiteError::Radios(name, known.name, board.name));
        }
        let environment = of_board(&testbed, &board, seed, Duration::ZERO);
        Ok(Self::of_parts(testbed, board, environment, seed))
    }

    fn of_parts(testbed: Arc<Testbed>, board: Board, environment: Environment, seed: u64) -> Self {
        let environment = Arc::new(environment);
        Self {
            sealing: testbed.sealing,
            testbed,
            board,
            seed,
            calm: environment.clone(),
            environment,
            losses: Losses::default(),
            age: Duration::ZERO,
            idle: None,
        }
    }

    /// The same as what comes `age` after [`Site::undisturbed`] finds it: its links have changed. Links that were
    /// measured more than once change from one visit to another; any time later is a visit later.
    ///
    /// # Errors
    /// None where there are no losses; those are injected each time.
    pub fn aged(&self, age: Duration) -> Result<Self, SiteError> {
        let Losses { links, psdu_bytes } = &self.losses;
        let environment = match self.testbed.visits() > 1 {
            true => of_board(&self.testbed, &self.board, self.seed, age),
            false => Environment::clone(&self.calm).later(age),
        };
        let calm = self.calm.clone();
        let bare = Self {
            environment: Arc::new(environment),
            losses: Losses::default(),
            age,
            ..self.clone()
        };
        let later = bare.with_losses(links, *psdu_bytes)?;
        Ok(Self { calm, ..later })
    }

    /// The same with nodes that have keys, or have none.
    #[must_use]
    pub const fn secured(mut self, sealing: Sealing) -> Self {
        self.sealing = sealing;
        self
    }
    /// Whether its nodes have keys, and act on nothing that is not sealed.
    pub const fn sealing(&self) -> Sealing {
        self.sealing
    }

    /// The same with nodes that sleep when idle, and have been idle for that long; none for nodes that listen all the
    /// time.
    #[must_use]
    pub const fn idling(mut self, idle: Option<Duration>) -> Self {
        self.idle = idle;
        self
    }
    /// For how long its nodes have been idle, where they sleep then.
    pub const fn idle(&self) -> Option<Duration> {
        self.idle
    }

    /// The same, whose links change by a standard deviation of `change` between any two visits a quarter of an hour or more
    /// apart, whatever kind of place it is. Links that were measured more than once do so still.
    #[must_use]
    pub fn changing(&self, change: Db) -> Self {
        let changed = |environment: &Environment| {
            let mut environment = environment.clone();
            environment.variation.change = Change {
                after_15_min: change,
                after_2_h: change,
                after_1_day: change,
            };
            Arc::new(environment)
        };
        Self {
            calm: changed(&self.calm),
            environment: changed(&self.environment),
            ..self.clone()
        }
    }

    /// How much later than [`Site::undisturbed`] it is.
    pub fn age(&self) -> Duration {
        self.age
    }

    /// The same nodes with `board` and all its radios. What need not be drawn again is not.
    pub fn with_board(&self, board: Board) -> Result<Self, SiteError> {
        let radios = |b: &Board| (b.chip.name, b.second.map(|second| second.chip.name));
        if radios(&board) == radios(&self.board) {
            let same = self.clone();
            return Ok(Self { board, ..same });
        }
        let Losses { links, psdu_bytes } = &self.losses;
        let other = Self::on(self.testbed.clone(), board, self.seed)?.aged(self.age)?;
        other.with_losses(links, *psdu_bytes)
    }

    /// The same as its nodes find it in `environment`.
    #[must_use]
    pub fn in_environment(&self, environment: Arc<Environment>) -> Self {
        Self {
            calm: environment.clone(),
            environment,
            ..self.clone()
        }
    }

    /// The same with losses on `links` in all bands, beside those that it has; shares are those of
    /// frames of `psdu_bytes` (FCS included).
    ///
    /// # Errors
    /// [`SiteError::Loss`] where a node is not there, or a link in no band.
    pub fn with_losses(mut self, links: &[Loss], psdu_bytes: usize) -> Result<Self, SiteError> {
        if links.is_empty() {
            return Ok(self);
        }
        let nodes = self.testbed.len();
        let bands = self.environment.ears.len() / nodes.max(1);
        let mut environment = Environment::clone(&self.environment);
        for loss in links {
            let name = &self.testbed.name;
            let wrong = |why| SiteError::Loss(name.clone(), loss.from, loss.to, why);
            let index = |node: NodeId| {
                let known = self.testbed.index_of(node);
                known.ok_or_else(|| wrong(format!("there is no node {node}")))
            };
            let (from, to) = (index(loss.from)?, index(loss.to)?);
            let mut is_heard = false;
            for band in 0..bands {
                let ear = |n: usize| EarId((n + band * nodes) as u32);
                let (from, to) = (ear(from), ear(to));
                let heard = |channel| environment.links.between(from, to, channel).is_some();
                is_heard |= Channel::all().any(heard);
                environment = environment.with_loss(from, to, loss.share, psdu_bytes);
            }
            if !is_heard {
                let (from, to) = (loss.from, loss.to);
                let why = format!("node {to} does not hear node {from}; there is nothing to lose");
                return Err(wrong(why));
            }
        }
        self.environment = Arc::new(environment);
        self.losses.links.extend_from_slice(links);
        self.losses.psdu_bytes = psdu_bytes;
        Ok(self)
    }

    /// The same before its losses, and before any time passed: what a survey sees that came first.
    #[must_use]
    pub fn undisturbed(&self) -> Self {
        Self {
            environment: self.calm.clone(),
            losses: Losses::default(),
            age: Duration::ZERO,
            ..self.clone()
        }
    }

    /// What the second radio of every node sees of the undisturbed site; none where the board has one.
    pub fn second_radio(&self) -> Option<Self> {
        let chip = self.board.second?.chip;
        let which = (Which::Second, self.seed);
        let environment = realised(&self.testbed, chip, which, Duration::ZERO);
        let board = self.board.with_second_radio().with_one_radio();
        let testbed = self.testbed.clone();
        Some(Self::of_parts(testbed, board, environment, self.seed))
    }
}

/// Which radio of a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    First,
    Second,
}

/// What all radios of `board` hear at every node.
fn of_board(testbed: &Testbed, board: &Board, seed: u64, age: Duration) -> Environment {
    let first = realised(testbed, board.chip, (Which::First, seed), age);
    match &board.second {
        Some(second) => first.beside(realised(testbed, second.chip, (Which::Second, seed), age)),
        None => first,
    }
}

/// What one radio of every node, a `chip`, hears of the others, as `seed` draws it, and as it is so long after the
/// beginning.
fn realised(
    testbed: &Testbed,
    chip: &'static Chip,
    (which, seed): (Which, u64),
    age: Duration,
) -> Environment {
    let places = testbed.places(seed);
    let radios = match which {
        Which::First => seed,
        Which::Second => derive(seed, "second radio", &[]),
    };
    match &testbed.physics {
        Physics::Generated { model, .. } | Physics::Placed { model } => {
            let places: Vec<_> = places.iter().map(|p| p.unwrap_or_default()).collect();
            Environment::from_building(&in_band(model, chip.band), &places, chip, radios).later(age)
        }
        Physics::Measured(measured) => {
            let links = measured.at(seed, age).iter().map(|l| MeasuredLink {
                from: u32::from(l.from),
                to: u32::from(l.to),
                channel: l.channel,
                prr: l.prr,
                rssi: l.rssi_dbm.map(Dbm),
            });
            let (nodes, psdu_bytes) = (testbed.len(), measured.frame_bytes);
            let frame = MeasuredFrame { psdu_bytes };
            let (variation, seed) = (measured.variation(), radios);
            let environment =
                Environment::from_measured(nodes, links, frame, variation, chip, seed);
            let mut environment = environment.later(age);
            for (ear, place) in environment.ears.iter_mut().zip(places) {
                ear.placement = place;
            }
            environment
        }
    }
}

fn in_band(model: &BuildingModel, band: Band) -> BuildingModel {
    let mut model = model.clone();
    if band == Band::Mhz900 {
        model.loss_at_1m = model.loss_at_1m - LESS_AT_900;
        model.wifi = None;
        model.clean_bursts = None;
    }
    model
}

#[cfg(test)]
#[path = "site_tests.rs"]
mod tests;
