//! The protocol of one end, apart from its buffers: sessions, numbers, acknowledgements, beats.

use super::{
    following, LinkEvent, Lost, Protocol, Received, ResendRequest, State, BEAT, GREET, RESEND,
    SILENCE, TRIES, WINDOW,
};
use thalweg_units::Instant;
use thalweg_wire::host::{About, Frame, Hello, VERSION};

impl Protocol {
    /// The session with the other end's `epoch`.
    pub(super) const fn session(&self, epoch: u32) -> u32 {
        self.epoch ^ epoch
    }

    pub(super) fn restart(&mut self, now: Instant, state: State) {
        self.epoch = following(self.epoch);
        self.state = state;
        (self.base, self.going, self.next, self.wanted) = (0, 0, 0, 0);
        (self.resend, self.tries, self.note_waits) = (None, 0, false);
        (self.owes_beat, self.resend_request) = (false, ResendRequest::No);
        self.greet = now;
    }
    fn down(&mut self, now: Instant, state: State, why: Lost) -> LinkEvent<'static> {
        self.restart(now, state);
        LinkEvent::Down(why)
    }
    fn up(&mut self, now: Instant, (peer, about): (u32, Option<About>)) -> Received {
        self.state = State::Up(peer);
        (self.last_heard, self.owes_beat) = (now, true);
        Received::Event(LinkEvent::Up(about))
    }

    pub(super) fn request_resend(&mut self) {
        if matches!(
            (self.state, self.resend_request),
            (State::Up(_), ResendRequest::No)
        ) {
            self.resend_request = ResendRequest::Due;
        }
    }

    pub(super) fn handle(&mut self, now: Instant, frame: Frame<'_>) -> Option<Received> {
        let (session, wanted) = match frame {
            Frame::Hello(hello) => return self.on_hello(now, hello),
            Frame::Data {
                session, wanted, ..
            }
            | Frame::Beat { session, wanted }
            | Frame::Again { session, wanted } => (session, Some(wanted)),
            Frame::Note { session, .. } => (session, None),
        };
        match self.state {
            State::Up(peer) if self.session(peer) == session => {}
            // The other end was greeted. What else the frame says will be said again.
            State::Greeting(Some(peer)) if self.session(peer.0) == session => {
                return Some(self.up(now, peer));
            }
            _ => return None,
        }
        self.last_heard = now;
        if let Some(wanted) = wanted {
            self.on_acknowledgement(now, wanted);
        }
        match frame {
            Frame::Data {
                number, message, ..
            } => self.data(number, message.len()),
            Frame::Again { .. } => {
                self.go_back(now);
                None
            }
            Frame::Note { message, .. } => Some(Received::Note(message.len())),
            Frame::Hello(_) | Frame::Beat { .. } => None,
        }
    }

    fn on_hello(&mut self, now: Instant, hello: Hello) -> Option<Received> {
        if hello.version != VERSION {
            let event = match self.state {
                State::Foreign(version) if version == hello.version => return None,
                _ => LinkEvent::Foreign(hello.version),
            };
            self.restart(now, State::Foreign(hello.version));
            return Some(Received::Event(event));
        }
        let peer = (hello.epoch, hello.about);
        match self.state {
            State::Up(epoch) if epoch == hello.epoch => {
                // It has not heard that the session has begun.
                self.owes_beat = true;
                None
            }
            State::Up(_) => {
                let event = self.down(now, State::Greeting(Some(peer)), Lost::Restarted);
                Some(Received::Event(event))
            }
            State::Greeting(_) | State::Foreign(_) if hello.echo == Some(self.epoch) => {
                Some(self.up(now, peer))
            }
            State::Greeting(_) | State::Foreign(_) => {
                self.state = State::Greeting(Some(peer));
                self.greet = now;
                None
            }
        }
    }

    /// All before `wanted` arrived.
    fn on_acknowledgement(&mut self, now: Instant, wanted: u8) {
        let (count, sent) = (
            wanted.wrapping_sub(self.base),
            self.next.wrapping_sub(self.base),
        );
        if count == 0 || count > sent {
            return;
        }
        let gone = self.going.wrapping_sub(self.base);
        self.base = wanted;
        if gone < count {
            self.going = wanted;
        }
        self.tries = 0;
        self.resend = (self.base != self.going).then(|| now + RESEND);
    }

    fn go_back(&mut self, now: Instant) {
        self.going = self.base;
        self.resend = (self.base != self.next).then(|| now + RESEND);
    }

    fn data(&mut self, number: u8, len: usize) -> Option<Received> {
        self.owes_beat = true;
        if number == self.wanted {
            self.wanted = self.wanted.wrapping_add(1);
            self.resend_request = ResendRequest::No;
            return Some(Received::Message(len));
        }
        // Behind a gap; one that came already only wants its acknowledgement.
        if usize::from(number.wrapping_sub(self.wanted)) < WINDOW {
            self.request_resend();
        }
        None
    }

    pub(super) fn timeout(&mut self, now: Instant) -> Option<LinkEvent<'static>> {
        let State::Up(_) = self.state else {
            return None;
        };
        if now >= self.last_heard + SILENCE {
            return Some(self.down(now, State::Greeting(None), Lost::Silent));
        }
        if self.resend.is_some_and(|at| now >= at) {
            self.tries += 1;
            if self.tries > TRIES {
                return Some(self.down(now, State::Greeting(None), Lost::Unanswered));
            }
            self.go_back(now);
        }
        None
    }

    pub(super) fn frame(&mut self, now: Instant) -> Option<Frame<'_>> {
        let State::Up(peer) = self.state else {
            return self.hello(now);
        };
        let (session, wanted) = (self.session(peer), self.wanted);
        if self.resend_request == ResendRequest::Due {
            (self.resend_request, self.owes_beat) = (ResendRequest::Sent, false);
            return Some(Frame::Again { session, wanted });
        }
        if core::mem::take(&mut self.note_waits) {
            let message = self.note.bytes();
            return Some(Frame::Note { session, message });
        }
        if self.going != self.next {
            let number = self.going;
            self.going = number.wrapping_add(1);
            self.resend.get_or_insert(now + RESEND);
            self.owes_beat = false;
            return Some(Frame::Data {
                session,
                number,
                wanted,
                message: self.slots[usize::from(number) % WINDOW].bytes(),
            });
        }
        if core::mem::take(&mut self.owes_beat) || now >= self.last_sent + BEAT {
            return Some(Frame::Beat { session, wanted });
        }
        None
    }

    fn hello(&mut self, now: Instant) -> Option<Frame<'static>> {
        if now < self.greet {
            return None;
        }
        self.greet = now + GREET;
        let echo = match self.state {
            State::Greeting(peer) => peer.map(|(epoch, _)| epoch),
            _ => None,
        };
        Some(Frame::Hello(Hello {
            version: VERSION,
            epoch: self.epoch,
            echo,
            about: self.about,
        }))
    }
}
