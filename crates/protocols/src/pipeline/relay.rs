//! A relay: stage k, 1..H. It has no modes to get stuck in: a frame's kind tells its direction,
//! data and requests go on to C_{k+1}, NACKs back to C_{k-1} (P3, section IV-F).
//!
//! Where packets are held, each waits in the radio for the next frame of stage k - 1, of whatever
//! kind. A request follows what it sets off, a packet's period later, so that no relay holds anything
//! when the destination answers. Tests: `tests/conditional.rs`.

use super::adaptation::Reception;
use super::air::{Brief, Order, TxAnswer};
use super::cadence::Cadence;
use super::context::{Context, Flow};
use super::end::End;
use super::pauses::Pauses;
use core::ops::ControlFlow::{Break, Continue};
use thalweg_engine::{Passing, When};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::pipeline::{self, Group, Head, Header, Kind, Nack, Purpose, Request};
use thalweg_wire::route::{Groups, Role};
use thalweg_wire::{FrameBuf, Reader, WireError};

/// Whose NACKs a relay passes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// Those of its group.
    OfGroup,
    /// Those of both.
    OfBoth,
}

/// A relay's state.
#[derive(Debug)]
pub(super) struct Relay {
    stage: u8,
    group: Group,
    /// When anything of this transfer was last heard.
    last_heard: Instant,
    patience: Duration,
    /// Set by the last request.
    answers: Answers,
    /// The frame under way is a release: leave when it is sent.
    leaving: bool,
    /// A NACK said that nothing is missing.
    complete: bool,
    /// A NACK has ended the transfer: by then the source's release has passed, or will not come.
    over: Option<Instant>,
    /// A packet of this relay's group has begun.
    packet_begun: bool,
    /// A packet is in the radio's hands.
    holds: bool,
    /// Packets since it last wrote its count into a request.
    count: u8,
    pauses: Pauses,
    /// SFD of the packet that it keeps through a pause.
    kept: Option<Instant>,
}

impl Relay {
    pub(super) fn new(stage: u8, group: Group, cx: &Context<'_>, now: Instant) -> Self {
        Self {
            stage,
            group,
            last_heard: now.max(cx.session.start),
            patience: cx.session.policy.inactivity,
            answers: Answers::OfGroup,
            leaving: false,
            complete: false,
            over: None,
            packet_begun: false,
            holds: false,
            count: 0,
            pauses: Pauses::of(0),
            kept: None,
        }
    }

    fn deadline(&self) -> Instant {
        let silent = self.last_heard + self.patience;
        self.over.map_or(silent, |over| over.min(silent))
    }
    /// When it has something to do.
    pub(super) fn next(&self, cadence: &Cadence) -> Instant {
        let sends = self.kept.map(|sfd| Self::sends(cadence, sfd));
        sends.map_or(self.deadline(), |sends| sends.min(self.deadline()))
    }
    /// When to order the kept packet for `sfd`: by then the frames of the pause are sent.
    fn sends(cadence: &Cadence, sfd: Instant) -> Instant {
        sfd.saturating_sub(cadence.lead() + cadence.gap() / 2)
    }
    pub(super) fn timeout(&mut self, cx: &mut Context<'_>, at: Instant) -> Flow {
        let cadence = cx.cadence;
        if (self.kept.take_if(|sfd| Self::sends(cadence, *sfd) <= at)).is_some() {
            cx.air.go_on();
        }
        match at >= self.deadline() {
            true => Break(self.silence()),
            false => Continue(()),
        }
    }
    /// How it ends when nothing more is heard.
    pub(super) fn silence(&self) -> End {
        match self.complete || self.over.is_some() {
            true => End::Released,
            false => End::TimedOut,
        }
    }

    /// Whether a frame that begins with `head` comes from a neighbouring stage, for this group, or may be for both.
    fn wants(&self, cx: &Context<'_>, head: &Head, mpdu: &[u8]) -> bool {
        let group = match head.kind {
            _ if cx.session.groups == Groups::One || head.group == self.group => true,
            Kind::Data => false,
            // The rest of the request says.
            Kind::Request => cx.session.policy.retry.purpose() == Purpose::Across,
            Kind::Nack => self.answers == Answers::OfBoth,
        };
        group && self.is_neighbour(head) && Self::is_meant(cx, head, mpdu)
    }
    /// Data goes over relays, and over alternate relays that it calls; control over all.
    fn is_meant(cx: &Context<'_>, head: &Head, mpdu: &[u8]) -> bool {
        let is_alternate = matches!(cx.session.role, Role::Alternate { .. });
        head.kind != Kind::Data || !is_alternate || pipeline::calls(mpdu)
    }
    fn is_neighbour(&self, head: &Head) -> bool {
        match head.kind {
            Kind::Data | Kind::Request => head.hop + 1 == self.stage,
            Kind::Nack => head.hop == self.stage + 1,
        }
    }

    /// The beginning of a frame: aborts the reception of what is for others (P3, section IV-B).
    pub(super) fn head(&mut self, cx: &mut Context<'_>, bytes: &[u8], sfd: Instant) {
        let tag = cx.session.tag;
        let ours = Head::parse(bytes).ok().filter(|head| head.tag == tag);
        if let Some(head) = ours {
            self.last_heard = self.last_heard.max(sfd);
            if self.is_neighbour(&head) {
                cx.adaptation.on_reception(Reception::Neighbour, sfd);
            }
            let beside = (head.kind, head.hop, head.group) == (Kind::Data, self.stage, self.group);
            if beside && Self::is_meant(cx, &head, bytes) {
                cx.adaptation.on_reception(Reception::Peer, sfd);
            }
        }
        let wanted = ours.filter(|head| self.wants(cx, head, bytes));
        self.packet_begun = wanted.is_some_and(|head| head.kind == Kind::Data);
        if wanted.is_none() {
            cx.stats.aborted += 1;
            cx.listen();
        }
    }

    /// The end of the frame under way was lost.
    pub(super) fn corrupt(&mut self, cx: &mut Context<'_>, sfd: Instant) {
        if core::mem::take(&mut self.packet_begun) {
            cx.adaptation.on_reception(Reception::Broken, sfd);
        }
    }

    pub(super) fn frame(&mut self, cx: &mut Context<'_>, mpdu: &[u8], sfd: Instant) -> Flow {
        let mut body = Reader::new(mpdu);
        let Ok(Header { head, number }) = Header::parse(&mut body) else {
            return Continue(());
        };
        if head.tag != cx.session.tag || !self.wants(cx, &head, mpdu) {
            return Continue(());
        }
        let Some(body) = cx.opened(head.kind, mpdu, body) else {
            return Continue(());
        };
        let what = match head.kind {
            Kind::Data if mpdu.len() != cx.cadence.data_bytes() => None,
            Kind::Data => {
                self.packet_begun = false;
                self.count = self.count.saturating_add(1);
                Some(match pipeline::calls(mpdu) {
                    true => Reception::Call,
                    false => Reception::Packet,
                })
            }
            Kind::Request => self.request(cx, &head, number, body),
            Kind::Nack => self.nack(cx, body, (mpdu.len(), sfd)),
        };
        let Some(what) = what else {
            return Continue(());
        };
        self.last_heard = self.last_heard.max(sfd);
        cx.adaptation.on_reception(what, sfd);
        if cx.adaptation.passes_on(what) {
            self.pass_on(cx, (&head, number, what), mpdu, sfd);
            return Continue(());
        }
        cx.stats.withheld += 1;
        match self.leaving {
            true => Break(End::Released),
            false => Continue(()),
        }
    }

    /// A request of `round`; none if it is not for this relay.
    fn request(
        &mut self,
        cx: &mut Context<'_>,
        head: &Head,
        round: u16,
        mut body: Reader<'_>,
    ) -> Option<Reception> {
        let request = Request::parse(&mut body).ok()?;
        self.pauses.set_packets(request.packets);
        self.answers = match request.purpose {
            Purpose::Across => Answers::OfBoth,
            _ if cx.session.groups == Groups::Two && head.group != self.group => return None,
            _ => Answers::OfGroup,
        };
        self.leaving = request.purpose == Purpose::Release;
        if !self.leaving {
            cx.adaptation.on_round_end(round, None);
        }
        Some(match request.purpose {
            Purpose::Count => Reception::Count,
            Purpose::Report | Purpose::Across | Purpose::Release => Reception::Control,
        })
    }

    /// A NACK in a frame of so many bytes, whose SFD was then.
    fn nack(
        &mut self,
        cx: &mut Context<'_>,
        body: Reader<'_>,
        (bytes, sfd): (usize, Instant),
    ) -> Option<Reception> {
        let nack = Nack::parse(body).ok()?;
        if let Some((note, _)) = cx.session.split(nack.vector) {
            let (away, following) = (self.stage, nack.following);
            let due = (cx.cadence).round_after(bytes, away, following, self.stage);
            let retune = cx.adaptation.on_nack(note, sfd + due);
            cx.retune(retune);
            if cx.adaptation.gives_up() {
                let released = cx.cadence.released_after(bytes, away, following);
                self.over = Some(sfd + released);
            }
        }
        if nack.missing == 0 {
            self.patience = cx.session.policy.linger;
            self.complete = true;
        }
        Some(Reception::Control)
    }

    /// Sends on what came at `sfd`, or keeps it for later. The one copy of it is made at the end, where it is sent from.
    fn pass_on(
        &mut self,
        cx: &mut Context<'_>,
        (head, number, what): (&Head, u16, Reception),
        mpdu: &[u8],
        sfd: Instant,
    ) {
        let counted;
        let mpdu = match what {
            Reception::Count => {
                let Ok(frame) = self.with_count(mpdu) else {
                    return;
                };
                counted = frame;
                &counted[..]
            }
            _ => mpdu,
        };
        let (towards, gap) = match head.kind {
            Kind::Data => (self.stage + 1, cx.cadence.gap()),
            Kind::Request => (self.stage + 1, cx.cadence.request_gap()),
            Kind::Nack => (self.stage - 1, cx.cadence.control_gap()),
        };
        let next = match head.kind {
            Kind::Data => sfd + cx.cadence.cycle(),
            Kind::Request | Kind::Nack => sfd + cx.cadence.slot(mpdu.len()),
        };
        let channel = cx.adaptation.channel(towards, next);
        if self.kept.is_some() && head.kind == Kind::Nack {
            let brief = Brief::of(mpdu);
            if let Some(brief) = brief.and_then(|brief| self.in_own_name(brief)) {
                cx.air.send_beside(brief, channel, When::AfterRx(gap));
            }
            return;
        }
        self.kept = None;
        if head.kind == Kind::Data && self.pauses.begins(cx.session, number) {
            let then = next + cx.cadence.pause();
            if self.write(cx, mpdu).is_ok() {
                cx.air.keep(Order::Send(channel, When::At(then)));
                self.kept = Some(then);
            }
            return;
        }
        match (cx.session.policy.passing, head.kind) {
            (Passing::Copied, _) | (_, Kind::Nack) => {
                if self.write(cx, mpdu).is_ok() {
                    cx.air.transmit(channel, When::AfterRx(gap));
                }
            }
            (Passing::Conditional, Kind::Request) => {
                self.follow(cx, mpdu, Order::Send(channel, When::AfterRx(gap)));
            }
            (Passing::Conditional, Kind::Data) => self.hold(cx, mpdu, channel),
        }
    }

    /// A request with this stage's count, which starts from zero.
    #[inline(never)]
    fn with_count(&mut self, mpdu: &[u8]) -> Result<FrameBuf, WireError> {
        let count = core::mem::take(&mut self.count);
        let mut frame = FrameBuf::from_slice(mpdu)?;
        pipeline::set_count(&mut frame, self.stage, count).map(|()| frame)
    }
    /// The same frame, sent by this stage.
    fn in_own_name(&self, mut brief: Brief) -> Option<Brief> {
        let is_written = pipeline::set_hop(&mut brief, self.stage).is_ok();
        is_written.then_some(brief)
    }
    /// Makes `mpdu` the frame that is ordered next, sent by this stage.
    fn write(&self, cx: &mut Context<'_>, mpdu: &[u8]) -> Result<(), WireError> {
        let frame = cx.air.frame_mut();
        frame.copy_from(mpdu)?;
        pipeline::set_hop(frame, self.stage)
    }

    /// `mpdu` waits in the radio for the next frame of the stage before, of whatever kind.
    fn hold(&mut self, cx: &mut Context<'_>, mpdu: &[u8], channel: Channel) {
        let before = Head {
            kind: Kind::Data,
            tag: cx.session.tag,
            hop: self.stage - 1,
            group: cx.session.first_group(0),
        };
        if let Ok(trigger) = before.origin(cx.session.format) {
            self.follow(cx, mpdu, Order::Hold(channel, trigger));
        }
    }

    /// `order` comes when what is held is gone. That is under way: this frame has set it off. If it is
    /// not, because the radio got the order too late, the frame after this one does.
    fn follow(&mut self, cx: &mut Context<'_>, mpdu: &[u8], order: Order) {
        let holds = matches!(order, Order::Hold(..));
        if self.holds && holds && cx.air.kept().is_some() {
            // A packet that has no room is lost here, and asked for again; a request has precedence.
            cx.stats.refused += 1;
            return;
        }
        if self.write(cx, mpdu).is_err() {
            return;
        }
        match self.holds {
            true => cx.air.keep(order),
            false => {
                cx.air.order(order);
                self.holds = holds;
            }
        }
    }

    /// The packet that was held was sent, or refused.
    pub(super) fn let_go(&mut self, cx: &mut Context<'_>, answer: TxAnswer) {
        match answer {
            TxAnswer::Sent(_) => cx.stats.forwarded += 1,
            TxAnswer::Refused(_) => cx.stats.refused += 1,
        }
        self.holds = matches!(cx.air.kept(), Some(Order::Hold(..)));
        cx.air.go_on();
    }

    pub(super) fn answered(&mut self, cx: &mut Context<'_>, answer: TxAnswer) -> Flow {
        cx.stats.forwarded += u32::from(matches!(answer, TxAnswer::Sent(_)));
        match self.leaving {
            true => Break(End::Released),
            false => Continue(()),
        }
    }
}
