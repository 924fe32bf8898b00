//! Many scenarios, on several threads.
//!
//! Time base: the wall clock, for progress alone. Invariants: what a seed comes to does not depend on threads; breaches are
//! given in order of their seeds. Tests: `campaign_tests.rs`.

use crate::breach::{Breach, BreachKind};
use crate::draw::{draw, Whom};
use crate::run::{run, Ran};
use crate::script::Script;
use std::any::Any;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};
use thalweg_sim::{boards, Board};

/// What is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    /// The first seed.
    pub first: u64,
    /// How many seeds.
    pub scenarios: u64,
    /// Who is to blame.
    pub whom: Whom,
    /// How many run at once.
    pub jobs: NonZeroUsize,
    /// Whether the campaign ends with the first breach.
    pub after_breach: AfterBreach,
}

/// What follows a breach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterBreach {
    /// Nothing.
    Stop,
    /// The next seed.
    GoOn,
}

/// How far a campaign is, and what it came to.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Scenarios that have ended.
    pub scenarios: u64,
    /// Jobs while things went wrong.
    pub jobs: u64,
    /// Of these, those that brought what was asked.
    pub done: u64,
    /// Objects that arrived once all was well.
    pub delivered: u64,
    /// Events of the simulation.
    pub events: u64,
    /// Seconds of the networks' time.
    pub network_s: f64,
    /// The longest that one object took once all was well, in seconds of the network's time, and its seed.
    pub slowest: (f64, u64),
    /// The longest that a scenario took on the wall clock, in seconds, and its seed.
    pub longest: (f64, u64),
    /// Breaches by seed.
    pub breaches: BTreeMap<u64, Breach>,
    /// Those that only secured frames, or a new group key, would prevent ([`Script::excuses`]), by seed.
    pub unsecured: BTreeMap<u64, Breach>,
    /// How long the campaign has run.
    pub wall: Duration,
}

impl Tally {
    /// Scenarios a second.
    pub fn rate(&self) -> f64 {
        self.scenarios as f64 / self.wall.as_secs_f64().max(1e-9)
    }
    /// How often each invariant broke, of `breaches`.
    pub fn by_kind(breaches: &BTreeMap<u64, Breach>) -> BTreeMap<BreachKind, u64> {
        let mut kinds = BTreeMap::new();
        for breach in breaches.values() {
            *kinds.entry(breach.kind()).or_default() += 1;
        }
        kinds
    }
    fn add(&mut self, ended: Ended) {
        let Ended {
            seed,
            wall,
            end,
            is_excused,
        } = ended;
        self.scenarios += 1;
        if wall.as_secs_f64() > self.longest.0 {
            self.longest = (wall.as_secs_f64(), seed);
        }
        match end {
            Ok(ran) => {
                self.jobs += u64::from(ran.jobs);
                self.done += u64::from(ran.done);
                self.delivered += u64::from(ran.delivered);
                self.events += ran.events;
                self.network_s += ran.time.as_secs_f64();
                if ran.slowest.as_secs_f64() > self.slowest.0 {
                    self.slowest = (ran.slowest.as_secs_f64(), seed);
                }
            }
            Err(breach) => {
                let breaches = match is_excused {
                    true => &mut self.unsecured,
                    false => &mut self.breaches,
                };
                breaches.insert(seed, breach);
            }
        }
    }
}

/// A scenario that has ended.
struct Ended {
    seed: u64,
    wall: Duration,
    end: Result<Ran, Breach>,
    /// Whether its breach is one that secured frames would prevent.
    is_excused: bool,
}

/// Runs `script`; a panic is a breach.
///
/// # Errors
/// [`Breach`].
pub fn guarded(script: &Script) -> Result<Ran, Breach> {
    caught(script, &board(&script.board)?)
}

fn board(name: &str) -> Result<Board, Breach> {
    boards::load(name).map_err(|why| Breach::Stuck(why.to_string()))
}

/// A panic's message, on one line.
fn said(why: &(dyn Any + Send)) -> String {
    let text = why.downcast_ref::<&str>().copied();
    let text = text.or_else(|| why.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").replace('\n', " ")
}

/// Runs a campaign; about once a second `observer` sees how far it is, and may stop it.
pub fn campaign(campaign: &Campaign, observer: &mut dyn FnMut(&Tally) -> ControlFlow<()>) -> Tally {
    let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let began = Instant::now();
    let mut tally = Tally::default();
    thread::scope(|scope| {
        let (sender, ended) = channel();
        for _ in 0..campaign.jobs.get() {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            scope.spawn(move || work(campaign, &sender, next, stop));
        }
        drop(sender);
        let mut shown = Instant::now();
        loop {
            match ended.recv_timeout(Duration::from_millis(200)) {
                Ok(one) => {
                    let is_broken = one.end.is_err() && !one.is_excused;
                    let is_last = is_broken && campaign.after_breach == AfterBreach::Stop;
                    tally.add(one);
                    if is_last {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            tally.wall = began.elapsed();
            if shown.elapsed() >= Duration::from_secs(1) {
                shown = Instant::now();
                if observer(&tally).is_break() {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    tally.wall = began.elapsed();
    tally
}

/// Takes one seed after the other.
fn work(campaign: &Campaign, sender: &Sender<Ended>, next: &AtomicU64, stop: &AtomicBool) {
    let mut known: BTreeMap<String, Board> = BTreeMap::new();
    while !stop.load(Ordering::Relaxed) {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= campaign.scenarios {
            return;
        }
        let seed = campaign.first.wrapping_add(number);
        let began = Instant::now();
        let script = draw(seed, campaign.whom);
        let end = match known.get(&script.board) {
            Some(board) => caught(&script, board),
            None => board(&script.board).and_then(|board| {
                let board = known.entry(script.board.clone()).or_insert(board);
                caught(&script, board)
            }),
        };
        let excused = |breach: &Breach| script.excuses(breach.kind());
        let ended = Ended {
            seed,
            wall: began.elapsed(),
            is_excused: end.as_ref().err().is_some_and(excused),
            end,
        };
        if sender.send(ended).is_err() {
            return;
        }
    }
}

fn caught(script: &Script, board: &Board) -> Result<Ran, Breach> {
    // Whatever a panic leaves is thrown away.
    catch_unwind(AssertUnwindSafe(|| run(script, board)))
        .unwrap_or_else(|why| Err(Breach::Panic(said(&*why))))
}

#[cfg(test)]
#[path = "campaign_tests.rs"]
mod tests;
