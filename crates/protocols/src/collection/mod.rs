//! Collection of link tables (P3, section IV-D1, after the Low-Power Wireless Bus as P3 describes
//! it): the sink floods who sends in which slot; in each slot one node floods a frame of its report.
//!
//! Owns: packing a table into frames, the sink's account, a node's slots. Time base: the reference
//! time of the schedule's flood. Invariants: a slot has one initiator; a frame is asked for a
//! bounded number of times; every node ends complete or given up. Driven by [`crate::floodnet`].
//! Tests: in the modules here and there.

mod ledger;
mod pack;

pub(crate) use ledger::Ledger;
pub use ledger::Missing;
pub(crate) use pack::Links;
pub use pack::{report_frame, LinkReport, MAX_FRAMES};

use crate::linkprobe::NodeList;
use thalweg_units::{Duration, Instant, NodeId};
use thalweg_wire::flood::Campaign;
use thalweg_wire::report::{Assignment, Schedule};
use thalweg_wire::Reader;

/// The sink's order: collect the tables of these nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collect<const NODES: usize = 256> {
    /// Whose; the sink's own costs no air time.
    pub nodes: NodeList<NODES>,
    /// Links of which fewer beacons came through are not sent; 1 for all that were heard at all.
    pub floor: u8,
}

/// The slots that a schedule gives to one node.
#[derive(Debug, Clone)]
pub(crate) struct Agenda {
    pub(crate) campaign: Campaign,
    pub(crate) floor: u8,
    begin: Instant,
    pub(crate) slot: Duration,
    frame: u8,
    left: u8,
}

impl Agenda {
    /// What the schedule with this content and reference time gives to node `id`, if anything.
    pub(crate) fn parse(content: &[u8], reference: Instant, id: NodeId) -> Option<Self> {
        let mut r = Reader::new(content);
        let schedule = Schedule::parse(&mut r).ok()?;
        let mut slots_before = 0u64;
        while let Ok(assignment) = Assignment::parse(&mut r) {
            if assignment.node == id {
                return Some(Self {
                    campaign: schedule.campaign,
                    floor: schedule.floor,
                    begin: reference + schedule.first + schedule.slot * slots_before,
                    slot: schedule.slot,
                    frame: assignment.first,
                    left: assignment.count,
                });
            }
            slots_before += u64::from(assignment.count);
        }
        None
    }
    /// When the next frame is due on the air (the end of its SFD), and its number.
    pub(crate) fn peek(&self) -> Option<(Instant, u8)> {
        (self.left > 0).then_some((self.begin, self.frame))
    }
    /// The same, so much later in each slot.
    pub(crate) fn later(mut self, delay: Duration) -> Self {
        self.begin += delay;
        self
    }
    pub(crate) fn advance(&mut self) {
        self.begin += self.slot;
        self.frame = self.frame.saturating_add(1);
        self.left = self.left.saturating_sub(1);
    }
}
