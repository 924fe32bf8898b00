//! Five motes in a row pass a frame on: `cargo run -p thalweg-engine --features harness --example relay`.
//! `docs/site/first-mote.md` explains it.

use thalweg_engine::harness::{Air, Fate, Net};
use thalweg_engine::{
    Ability, BoardTiming, Cca, Engine, OpId, RadioEvent, RadioId, RadioOp, Request, Wants, When,
};
use thalweg_units::{Channel, Duration, Instant};
use thalweg_wire::{FrameBuf, WireError};

/// From the last byte of a received frame to the first symbol of its copy: a CC2420's turnaround.
const GAP: Duration = Duration::from_micros(192);

/// Sends the first frame that it hears once more, and reports its length.
struct Relay {
    next: Option<Next>,
    frame: Option<FrameBuf>,
    heard: Option<usize>,
}

enum Next {
    Listen,
    Send(When),
}

impl Relay {
    const fn new() -> Self {
        Self {
            next: Some(Next::Listen),
            frame: None,
            heard: None,
        }
    }
}

impl Engine for Relay {
    type Command = FrameBuf;
    type Event = usize;

    fn wants(&self, radio: RadioId) -> Option<Wants> {
        (radio == RadioId(0)).then(|| Wants::of(&[Ability::Stream, Ability::AfterRx]))
    }

    fn handle_command(&mut self, _now: Instant, frame: FrameBuf) {
        self.frame = Some(frame);
        self.next = Some(Next::Send(When::Now));
    }

    fn handle_radio(&mut self, _at: Instant, _radio: RadioId, event: RadioEvent<'_>) {
        let RadioEvent::Frame { mpdu, .. } = event else {
            return;
        };
        if self.frame.is_none() {
            self.frame = FrameBuf::from_slice(mpdu).ok();
            self.heard = Some(mpdu.len());
            self.next = Some(Next::Send(When::AfterRx(GAP)));
        }
    }

    fn handle_timeout(&mut self, _at: Instant) {}

    fn poll_radio(&mut self) -> Option<Request<'_>> {
        let channel = Channel::LAST;
        let op = match (self.next.take()?, &self.frame) {
            (Next::Send(when), Some(frame)) => RadioOp::Stream {
                mpdu: frame,
                channel,
                when,
                cca: Cca::Skip,
            },
            _ => RadioOp::Listen {
                channel,
                head_bytes: 0,
            },
        };
        Some(Request::new(OpId(1), op))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn poll_event(&mut self) -> Option<usize> {
        self.heard.take()
    }
}

fn main() -> Result<(), WireError> {
    // Each mote hears its neighbours in the row.
    let row = |air: Air<'_>| match air.from.abs_diff(air.to) {
        1 => Fate::Heard,
        _ => Fate::Silent,
    };
    let motes = (0..5).map(|_| Relay::new()).collect();
    let mut net = Net::new(motes, BoardTiming::IDEAL, row);
    net.run_for(Duration::from_millis(1));
    net.command(0, FrameBuf::from_slice(&[7; 50])?);
    net.run_for(Duration::from_secs(1));
    for (at, mote, bytes) in net.take_events() {
        let us = at.since(Instant::ZERO).as_micros();
        println!("mote {mote} heard {bytes} bytes at {us} us");
    }
    Ok(())
}
