//! An idle node sleeps and samples the channel; a sink wakes such nodes before an order.
//!
//! Time base: the node's clock. Invariants: a node with work does not rest; an order that waits for a train is carried
//! out. Tests: `tests/idle.rs`.

use super::rendezvous::Schedule;
use super::{Duty, Mote, Order, Others, Work};
use crate::floodnet::{self, Idle};
use crate::object::ObjectStore;
use crate::rouse::{self, AWAKE, MARGIN, PERIOD};
use crate::seals::Guard;
use crate::sweep::REACH;
use core::mem;
use thalweg_engine::RadioEvent;
use thalweg_units::Instant;
use thalweg_wire::rouse::Rouse;

/// Whether floods go on, which keep all nodes awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByFloods {
    Yes,
    No,
}

impl<S: ObjectStore, const NEIGHBOURS: usize, const NODES: usize, G: Guard>
    Mote<S, NEIGHBOURS, NODES, G>
{
    /// The network has idled for so long that all others rest.
    pub const fn set_idled(&mut self) {
        (self.active, self.reached) = (None, None);
    }

    /// Whether nodes may rest that `order` is for. A sweep that goes farther than usual looks for some that an earlier one
    /// missed: they may have slept through its train.
    pub(super) fn must_call(&self, now: Instant, order: &Order<NODES>) -> bool {
        let is_known = |at: Instant| now < at + AWAKE.saturating_sub(MARGIN);
        let may_rest = self.others == Others::MaySleep || !self.reached.is_some_and(is_known);
        let goes_far = matches!(order, Order::Floods(floodnet::Command::Sweep(sweep))
            if sweep.reach() > REACH);
        self.config.idle == Idle::Rests && (may_rest || goes_far)
    }

    /// Begins a train for `order`.
    pub(super) fn call_by_train(&mut self, now: Instant, order: Order<NODES>) {
        let hops = match &order {
            Order::Floods(floodnet::Command::Sweep(sweep)) if sweep.reach() > REACH => {
                sweep.reach()
            }
            Order::Floods(_) | Order::Muster(_) => 0,
            Order::Fetch { route, .. } => route.channels.hops(),
            Order::FetchHops(route) => route.hops(),
        };
        let slots = rouse::slots(hops, self.floods.timing());
        self.train.begin(now, self.floods.timing().wake, slots);
        self.work = Work::Calling(order);
    }

    /// A frame of a train is for this layer: nothing else is done while one is on its way.
    pub(super) fn is_roused(&mut self, now: Instant, event: &RadioEvent<'_>) -> bool {
        let RadioEvent::Frame { mpdu, sfd, .. } = *event else {
            return self.train.is_on();
        };
        let rests = self.config.idle == Idle::Rests;
        match Rouse::parse(mpdu) {
            Ok(rouse) if rests && (self.train.is_on() || self.floods.is_idle()) => {
                self.duty = Duty::Floods;
                self.train.take(now, rouse, sfd);
                true
            }
            _ => self.train.is_on(),
        }
    }

    /// Does what is due: the end of a train, of a sample, of a rest, and of the time after work.
    pub(super) fn idle(&mut self, now: Instant) {
        if self.config.idle != Idle::Rests {
            return;
        }
        if !self.train.is_on() && matches!(self.work, Work::Calling(_)) {
            self.carry_out_called(now);
        }
        match self.duty {
            Duty::Resting(until) if until <= now => {
                self.floods.listen(now);
                self.duty = Duty::Sampling(now + rouse::window(self.floods.timing()));
            }
            Duty::Sampling(_) if !self.floods.is_idle() => self.duty = Duty::Floods,
            Duty::Sampling(until) if until <= now => {
                let on = rouse::window(self.floods.timing());
                self.go_to_rest(now, until + PERIOD.saturating_sub(on));
            }
            _ => {}
        }
        let rests = matches!(self.duty, Duty::Resting(_) | Duty::Sampling(_));
        if !rests && !self.is_idle() {
            // A train has reached all when it is over, not before.
            let by_floods = match self.floods.is_idle() {
                true => ByFloods::No,
                false => ByFloods::Yes,
            };
            self.note_work(now, by_floods);
        } else if self.rest_due().is_some_and(|due| due <= now) {
            self.go_to_rest(now, now + rouse::phase(self.id));
        }
    }

    /// The train is over that the order was waiting for.
    #[inline(never)]
    fn carry_out_called(&mut self, now: Instant) {
        if let Work::Calling(order) = mem::replace(&mut self.work, Work::Nothing) {
            (self.active, self.reached) = (Some(now), Some(now));
            self.others = Others::InStep;
            self.carry_out_awake(now, order);
        }
    }

    /// The same in a transfer, between two frames of it.
    #[inline]
    pub(super) fn note_transfer(&mut self, now: Instant) {
        if self.config.idle == Idle::Rests {
            self.note_work(now, ByFloods::No);
        }
    }
    /// It has something to do.
    #[inline]
    fn note_work(&mut self, now: Instant, by_floods: ByFloods) {
        self.active = Some(now);
        // A path hop by hop keeps its own nodes awake.
        let goes_on = |schedule: &Schedule| !schedule.is_done(now);
        if by_floods == ByFloods::Yes || self.schedule.as_ref().is_some_and(goes_on) {
            self.reached = Some(now);
        }
    }

    pub(super) fn go_to_rest(&mut self, now: Instant, until: Instant) {
        self.floods.stop(now);
        self.sleep = true;
        self.duty = Duty::Resting(until);
    }

    /// When the time after work is over.
    pub(super) fn rest_due(&self) -> Option<Instant> {
        let rests = self.config.idle == Idle::Rests && self.is_idle();
        rests.then(|| self.active.map_or(Instant::ZERO, |since| since + AWAKE))
    }
}
