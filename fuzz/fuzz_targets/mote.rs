//! One node, and whatever its radio may say.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg_engine::{drain, BoardTiming, Engine, OpId, RadioEvent, RadioId, Refusal, Request};
use thalweg_protocols::floodnet::Config;
use thalweg_protocols::mote::{Command, Mote};
use thalweg_protocols::object::NoObject;
use thalweg_units::{Dbm, Duration, Instant, NodeId};
use thalweg_wire::Reader;

fuzz_target!(|story: &[u8]| {
    let Ok(id) = NodeId::new(1) else { return };
    let mut mote: Mote<NoObject, 16, 16> =
        Mote::new(id, Config::default(), BoardTiming::IDEAL, NoObject);
    let (mut r, mut now, mut last) = (Reader::new(story), Instant::ZERO, OpId(0));
    loop {
        let due = {
            let port = &mut (|request: Request<'_>| last = request.id, |_| ());
            drain(&mut mote, port).expect("livelock")
        };
        let (Ok(kind), Ok(step)) = (r.u8(), r.u16()) else {
            return;
        };
        let us = u64::from(step);
        now += Duration::from_micros(us);
        let sfd = now.saturating_sub(Duration::from_millis(4));
        let event = match kind % 8 {
            0..=2 => {
                let len = usize::from(r.u8().unwrap_or(0)).min(r.remaining());
                let Ok(mpdu) = r.bytes(len) else { return };
                RadioEvent::Frame {
                    mpdu,
                    sfd,
                    end: now,
                    rssi: Dbm(-70.0),
                    lqi: 100,
                }
            }
            3 => {
                let Ok(bytes) = r.bytes(3) else { return };
                RadioEvent::Head { bytes, sfd }
            }
            4 => RadioEvent::Sent { op: last, sfd },
            5 => RadioEvent::Refused {
                op: last,
                why: Refusal::Late {
                    by: Duration::from_micros(us),
                },
            },
            6 => {
                let Some(due) = due else { continue };
                now = now.max(due);
                mote.handle_timeout(now);
                assert!(
                    mote.poll_timeout().is_none_or(|next| next > now),
                    "stays due"
                );
                continue;
            }
            _ => {
                mote.handle_command(now, Command::Stop);
                continue;
            }
        };
        mote.handle_radio(now, RadioId(0), event);
    }
});
