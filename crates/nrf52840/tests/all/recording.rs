//! Recordings: whatever word or page the power fails at, what is sealed is whole or absent.

use crate::bench::model::{Chip, RAM};
use proptest::prelude::*;
use thalweg_nrf52840::dma::Region;
use thalweg_nrf52840::ecb::Ecb;
use thalweg_nrf52840::flash::{Flash, FlashError, PAGE_BYTES};
use thalweg_nrf52840::radio::Usage;
use thalweg_nrf52840::recording::{RecordError, Recording, Veil};
use thalweg_nrf52840::registers::ecb;
use thalweg_nrf52840::Registers;
use thalweg_protocols::object::{Lends, ObjectInfo, ObjectStore};
use thalweg_wire::seal::object::ObjectKeys;
use thalweg_wire::seal::{Key, NodeKeys, SoftwareAes};

const FIRST: u32 = 0x8_0000;
const PAGES: u16 = 8;
type Recorder = Recording<'static, Chip>;

fn flash() -> Flash {
    Flash::at(FIRST, PAGES).unwrap()
}
fn open(chip: Chip) -> Recorder {
    Recorder::new(chip, flash(), Vec::leak(vec![0; 512]))
}
fn bytes(of: u8, len: usize) -> Vec<u8> {
    (0..len).map(|n| (n as u8).wrapping_mul(7) ^ of).collect()
}

/// Records and seals `len` bytes; gives up at the first error.
fn record(recorder: &mut Recorder, of: u8, len: usize) -> Result<(), RecordError> {
    for chunk in bytes(of, len).chunks(100) {
        recorder.write(chunk)?;
        recorder.flush(Usage::Asleep)?;
    }
    recorder.seal(Usage::Asleep)?;
    recorder.tidy(Usage::Asleep)
}

fn all_of(recorder: &Recorder) -> Option<Vec<u8>> {
    let mut all = vec![0; recorder.info().len as usize];
    recorder.sealed()?;
    recorder.read(0, &mut all);
    Some(all)
}

#[test]
fn what_is_sealed_is_handed_out_after_a_restart_too() {
    let chip = Chip::new();
    let mut recorder = open(chip.clone());
    assert_eq!(all_of(&recorder), None);
    for (of, len) in [(1, 0), (2, 1), (3, 9_001), (4, 4_064), (5, 16_000), (6, 3)] {
        record(&mut recorder, of, len).unwrap();
        assert_eq!(all_of(&recorder), Some(bytes(of, len)));
        recorder = open(chip.clone());
        assert_eq!(all_of(&recorder), Some(bytes(of, len)));
        // Any range of it, also beyond its end.
        let mut part = [9; 10];
        recorder.read(len as u32 / 3, &mut part);
        let mut expected = bytes(of, len + 10)[len / 3..len / 3 + 10].to_vec();
        let beyond = (len / 3 + 10).saturating_sub(len).min(10);
        expected[10 - beyond..].fill(0);
        assert_eq!(part[..], expected[..]);
    }
}

#[test]
fn what_another_program_left_in_flash_is_no_recording() {
    // Nought, a boot loader's file system as it were, and pages that look used.
    for pattern in [0, 0x4D90_3CEB, 0x5350_4152, 0x7257_0000] {
        let mut chip = Chip::new();
        let words = [pattern; PAGE_BYTES as usize / 4];
        for page in 0..u32::from(PAGES) {
            let all = flash().write(&mut chip, Usage::Asleep, page * PAGE_BYTES, &words);
            all.unwrap();
        }
        let mut recorder = open(chip.clone());
        assert_eq!(all_of(&recorder), None, "{pattern:#x}");
        for of in 1..4 {
            record(&mut recorder, of, 9_001).unwrap();
            assert_eq!(all_of(&recorder), Some(bytes(of, 9_001)), "{pattern:#x}");
        }
        let again = open(chip);
        assert_eq!(all_of(&again), Some(bytes(3, 9_001)), "{pattern:#x}");
    }
}

#[test]
fn flash_is_left_alone_while_the_radio_is_in_use() {
    let mut chip = Chip::new();
    let mut recorder = open(chip.clone());
    recorder.write(&[1; 100]).unwrap();
    assert_eq!(
        recorder.flush(Usage::Active),
        Err(RecordError::WaitsForSleep)
    );
    assert_eq!(
        recorder.flush(Usage::Listening),
        Err(RecordError::WaitsForSleep)
    );
    recorder.tidy(Usage::Asleep).unwrap();
    let in_use = FlashError::InUse(Usage::Active);
    assert_eq!(
        recorder.flush(Usage::Active),
        Err(RecordError::Flash(in_use))
    );
    // Words do no harm to a radio that listens.
    recorder.flush(Usage::Listening).unwrap();
    assert_eq!(recorder.waiting(), 0);
    assert_eq!(recorder.write(&[1; 513]), Err(RecordError::BufferFull));
    let full = usize::from(PAGES) / 2 * 4_064;
    assert_eq!(recorder.write(&vec![1; full]), Err(RecordError::TooLong));
    let outside = flash().write(
        &mut chip,
        Usage::Asleep,
        u32::from(PAGES) * PAGE_BYTES,
        &[1],
    );
    assert!(matches!(outside, Err(FlashError::Outside(_))));
    assert_eq!(
        flash().erase(&mut chip, Usage::Listening, 0),
        Err(FlashError::InUse(Usage::Listening))
    );
    assert_eq!(Flash::at(FIRST + 4, 1), None);
    assert_eq!(Flash::at(0xF_F000, 2), None);
}

#[test]
fn a_transfer_stays_with_what_it_began_with() {
    let mut recorder = open(Chip::new());
    record(&mut recorder, 1, 500).unwrap();
    let info = recorder.info();
    record(&mut recorder, 2, 700).unwrap();
    let mut all = vec![0; info.len as usize];
    recorder.read(0, &mut all);
    assert_eq!(all, bytes(1, 500));
    assert_eq!(recorder.info().len, 700);
}

#[test]
fn a_bit_that_flash_lost_is_no_recording() {
    let mut chip = Chip::new();
    let mut recorder = open(chip.clone());
    record(&mut recorder, 1, 5_000).unwrap();
    record(&mut recorder, 2, 5_000).unwrap();
    assert_eq!(all_of(&open(chip.clone())), Some(bytes(2, 5_000)));
    // In the second's first page, of the two that each has.
    let at = FIRST + 2 * PAGE_BYTES + 1_000;
    let word = chip.read(at);
    chip.0.borrow_mut().words.insert(at, word ^ 0x100);
    assert_eq!(all_of(&open(chip)), Some(bytes(1, 5_000)));
}

#[test]
fn what_was_filled_up_for_its_seal_takes_no_more() {
    let mut recorder = open(Chip::new());
    recorder.write(&[1; 4_064]).unwrap_err();
    for _ in 0..40 {
        recorder.write(&[1; 100]).unwrap();
        recorder.flush(Usage::Asleep).unwrap();
    }
    recorder.write(&[1; 63]).unwrap();
    recorder.flush(Usage::Asleep).unwrap();
    assert_eq!(recorder.waiting(), 3);
    recorder.seal(Usage::Listening).unwrap();
    assert_eq!(all_of(&recorder), Some(vec![1; 4_063]));
}

/// Power that fails after so many writes and erasures, in the midst of one, as often as `cuts` says.
fn with_cuts(cuts: &[u32], lens: &[usize]) -> Result<(), TestCaseError> {
    let chip = Chip::new();
    let mut last: Option<u8> = None;
    let mut cuts = cuts.iter();
    for (of, len) in lens.iter().enumerate() {
        let of = of as u8 + 1;
        let mut recorder = open(chip.clone());
        chip.0.borrow_mut().power = cuts.next().copied();
        let done = record(&mut recorder, of, *len);
        drop(recorder);
        chip.0.borrow_mut().power = None;
        let found = all_of(&open(chip.clone()));
        // It is one of those that were recorded, whole: this one, or the one before.
        let is = |of: u8| found.as_ref() == Some(&bytes(of, lens[usize::from(of) - 1]));
        let whole = is(of) || last.is_some_and(is) || last.is_none() && found.is_none();
        prop_assert!(whole, "{of} {last:?} {done:?} {:?}", found.map(|f| f.len()));
        if is(of) {
            last = Some(of);
        }
        prop_assert!(
            done.is_err() || last == Some(of),
            "what was sealed is there"
        );
    }
    Ok(())
}

#[test]
fn a_cut_at_any_write_of_a_turn_of_the_ring_loses_nothing_sealed() {
    // One page each, over a ring that others have filled: an erasure, its mark, header, words, seal, one to strike out.
    for before in 0..10 {
        for cut in 0..40 {
            let mut cuts = vec![u32::MAX; before];
            cuts.push(cut);
            with_cuts(&cuts, &vec![60; before + 2]).unwrap();
        }
    }
    // Three pages each: the power fails again while the ring is put in order.
    for cut in (0..2_300).step_by(191) {
        with_cuts(&[u32::MAX, u32::MAX, cut, cut % 5, u32::MAX], &[9_000; 5]).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_power_does(
        cuts in prop::collection::vec(0..4_500_u32, 12),
        lens in prop::collection::vec(0..16_000_usize, 12),
    ) {
        with_cuts(&cuts, &lens)?;
    }
}

/// The keys of a node, and what its recordings are handed out with.
fn keys() -> ObjectKeys {
    NodeKeys::new(Key::new([7; 16])).objects(&mut SoftwareAes::default())
}
fn veiled(chip: &Chip) -> Recorder {
    let mut recorder = open(chip.clone());
    let ecb = Ecb::new(chip.clone(), Region::at(RAM, 12)).unwrap();
    recorder.set_veil(Veil::new(keys(), ecb));
    recorder
}
/// What a host makes of what `recorder` hands out, and whether its tag is right.
fn opened(recorder: &Recorder) -> Vec<u8> {
    let (info, aes) = (recorder.info(), &mut SoftwareAes::default());
    let mut all = all_of(recorder).unwrap();
    keys().apply(aes, &info.digest, 0, &mut all);
    assert!(keys().is_whole(aes, &info.digest, &all));
    all
}

#[test]
fn a_node_with_keys_hands_out_nothing_plain() {
    let chip = Chip::new();
    let mut recorder = veiled(&chip);
    for (of, len) in [(1, 0), (2, 1), (3, 9_001), (4, 16), (5, 4_064)] {
        record(&mut recorder, of, len).unwrap();
        assert_eq!(opened(&recorder), bytes(of, len));
        recorder = veiled(&chip);
        assert_eq!(opened(&recorder), bytes(of, len), "after a restart");
        assert_eq!(recorder.lend().info(), ObjectInfo::NONE, "for sessions");
    }
    // In flash it is as ever: a mote gets keys, and loses them, with what it has recorded.
    assert_eq!(all_of(&open(chip)), Some(bytes(5, 4_064)));
}

#[test]
fn what_was_encrypted_ahead_is_what_is_read() {
    let chip = Chip::new();
    let mut recorder = veiled(&chip);
    record(&mut recorder, 3, 1_000).unwrap();
    let all = all_of(&recorder).unwrap();
    let blocks = || {
        let log = std::mem::take(&mut chip.0.borrow_mut().log);
        log.iter().filter(|(at, _)| *at == ecb::STARTECB).count()
    };
    for (ahead, at, len) in [
        ((121, 121), 121, 121),
        ((121, 121), 121, 60),
        ((242, 121), 121, 121),
        ((968, 121), 968, 121),
        ((990, 500), 980, 121),
        ((5_000, 121), 5_000, 121),
    ] {
        recorder.encrypt_ahead(ahead);
        blocks();
        let mut read = vec![9; len];
        recorder.read(at as u32, &mut read);
        let is_ready = ahead.0 == at as u32;
        assert_eq!(blocks() == 0, is_ready, "{at}");
        let mut expected = all[at.min(1_000)..(at + len).min(1_000)].to_vec();
        expected.resize(len, 0);
        assert_eq!(read, expected, "{at}");
    }
    // Another recording's bytes are others.
    recorder.encrypt_ahead((0, 121));
    record(&mut recorder, 4, 1_000).unwrap();
    assert_eq!(opened(&recorder), bytes(4, 1_000));
}
