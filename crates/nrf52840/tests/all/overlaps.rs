//! What happens while something else does: buffers that are in use, and frames that end while an operation is asked for.

use crate::bench::model::US;
use crate::bench::{Bench, Told, CHANNEL};
use thalweg_engine::{Cca, Condition, RadioOp, TxSlot, When};
use thalweg_nrf52840::clock::instant;
use thalweg_units::{Channel, Duration};

const SLOT: TxSlot = TxSlot(0);

fn load(mpdu: &[u8]) -> RadioOp<'_> {
    RadioOp::Load { slot: SLOT, mpdu }
}
fn transmit(when: When) -> RadioOp<'static> {
    RadioOp::Transmit {
        slot: SLOT,
        channel: CHANNEL,
        when,
        cca: Cca::Skip,
    }
}

#[test]
fn no_frame_is_written_over_while_it_is_needed() {
    let mut b = Bench::new();
    b.listen();
    // One waits for a condition, one is on the air, one is pending, one is in the slot.
    b.ask(load(&[1; 30]));
    let bytes = &[9, 9][..];
    let (offset, channel, cca) = (0, CHANNEL, Cca::Skip);
    b.ask(RadioOp::Conditional {
        slot: SLOT,
        condition: Condition { offset, bytes },
        channel,
        cca,
    });
    b.ask(load(&[2; 100]));
    b.ask(transmit(When::Now));
    b.run(300);
    b.ask(load(&[3; 20]));
    let at = b.clock.now(&mut b.chip) + 9_000 * US;
    b.ask(transmit(When::At(instant(at))));
    for filling in 4..10 {
        b.ask(load(&[filling; 20]));
    }
    b.run(12_000);
    b.ask(transmit(When::Now));
    b.run(3_000);
    b.incoming(10, &[9; 10], true);
    b.run(4_000);
    let sent: Vec<(u8, usize)> = b.sent().iter().map(|s| (s.mpdu[0], s.mpdu.len())).collect();
    assert_eq!(sent, [(2, 100), (3, 20), (9, 20), (1, 30)]);
}

#[test]
fn an_acknowledgement_leaves_the_slot_as_it_is() {
    let mut b = Bench::new();
    b.listen();
    b.ask(load(&[1, 2, 3, 4]));
    b.incoming(10, &[9; 10], true);
    b.run_with(2_500, |b, told| {
        if let Told::Frame { .. } = told {
            b.submit(RadioOp::Acknowledge { mpdu: &[2, 0, 1] });
        }
    });
    b.ask(transmit(When::Now));
    b.run(2_000);
    let sent: Vec<Vec<u8>> = b.sent().iter().map(|s| s.mpdu.clone()).collect();
    assert_eq!(sent, [vec![2, 0, 1], vec![1, 2, 3, 4]]);
}

#[test]
fn a_frame_that_has_ended_is_told_whatever_is_asked_for_meanwhile() {
    let stream = RadioOp::Stream {
        mpdu: &[5; 5],
        channel: Channel::LAST,
        when: When::Now,
        cca: Cca::Skip,
    };
    let (channel, head_bytes) = (Channel::LAST, 0);
    let listen = RadioOp::Listen {
        channel,
        head_bytes,
    };
    for op in [listen, stream, RadioOp::Sleep] {
        let mut b = Bench::new();
        b.listen();
        let (sfd, _) = b.incoming(10, &[9; 10], true);
        let until = b.chip.now() + 2_000 * US;
        assert!(b.chip.run(until), "the frame has ended");
        b.ask(op);
        b.run(2_000);
        let is_it = |t: &&Told| matches!(t, Told::Frame { sfd: at, .. } if *at == instant(sfd));
        assert_eq!(
            b.told.iter().filter(is_it).count(),
            1,
            "{op:?}: {:?}",
            b.told
        );
    }
}

#[test]
fn an_answer_counts_from_the_frame_before_it_and_no_other() {
    let mut b = Bench::new();
    b.listen();
    let offset = b.offset();
    let (_, end) = b.incoming(10, &[9; 10], true);
    b.run_with(1_000, |b, told| {
        if let Told::Frame { .. } = told {
            b.submit(RadioOp::Stream {
                mpdu: &[5; 5],
                channel: CHANNEL,
                when: When::AfterRx(Duration::from_millis(3)),
                cca: Cca::Skip,
            });
        }
    });
    // A corrupt one, and a good one that comes after it was asked for, change nothing.
    b.incoming(10, &[9; 10], false);
    b.run(1_000);
    b.incoming(10, &[9; 10], true);
    b.run(4_000);
    assert_eq!(b.sent()[0].start - offset, end + 3_000 * US);
}

#[test]
fn what_is_told_of_a_cancelled_frame_is_what_was_on_the_air() {
    // Ramp-up, preamble and 8 bytes take 458 us and the transmitter's end 21: at each tick of what changes, and between.
    let ends = (455 * US..485 * US).chain(0..50 * US);
    for after in ends.chain((50 * US..455 * US).step_by(97)) {
        let mut b = Bench::new();
        b.listen();
        b.ask(load(&[6; 5]));
        let id = b.ask(transmit(When::Now));
        let until = b.chip.now() + after;
        b.chip.run(until);
        b.ask(RadioOp::Cancel);
        b.run(2_000);
        let whole = b.sent().iter().filter(|sent| sent.whole).count();
        let told = b.answers(id);
        assert_eq!(told.len(), 1, "{after}");
        let is_sent = matches!(told[0], Told::Sent(..));
        assert_eq!(usize::from(is_sent), whole, "{after}: {told:?}");
    }
}
