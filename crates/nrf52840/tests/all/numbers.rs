//! Numbers of floods: whatever word or page the power fails at, none that was kept is forgotten.

use crate::bench::model::Chip;
use thalweg_nrf52840::flash::{Flash, PAGE_BYTES};
use thalweg_nrf52840::numbers::{Numbers, PAGES};
use thalweg_nrf52840::radio::Usage;
use thalweg_units::NodeId;

fn flash() -> Flash {
    Flash::at(0x8_0000, PAGES).unwrap()
}
fn open(chip: &Chip) -> Numbers<Chip> {
    Numbers::open(chip.clone(), flash()).unwrap()
}
fn station(id: u16) -> NodeId {
    NodeId::new(id).unwrap()
}
fn kept(numbers: &mut Numbers<Chip>) -> Vec<(u16, u32)> {
    let kept = numbers.kept();
    let mut all: Vec<_> = kept.numbers().map(|(id, n)| (id.get(), n)).collect();
    all.sort_unstable();
    all
}

#[test]
fn the_highest_number_of_each_station_is_there_after_a_restart() {
    let chip = Chip::new();
    assert_eq!(kept(&mut open(&chip)), []);
    let mut numbers = open(&chip);
    for (id, number) in [(1, 40), (9, 7), (1, 200), (2, u32::MAX), (9, 100)] {
        numbers.keep(station(id), number).unwrap();
    }
    for mut numbers in [numbers, open(&chip)] {
        assert_eq!(kept(&mut numbers), [(1, 200), (2, u32::MAX), (9, 100)]);
    }
}

/// The two pages take turns. Once both are full, orders are refused until one has been erased.
#[test]
fn pages_take_turns() {
    let chip = Chip::new();
    let mut numbers = open(&chip);
    numbers.keep(station(3), 5).unwrap();
    for number in 0..800 {
        numbers.keep(station(1), number).unwrap();
        if number % 20 == 0 {
            numbers.tidy(Usage::Asleep).unwrap();
            assert_eq!(kept(&mut numbers), [(1, number), (3, 5)]);
        }
    }
    let full = (800..2_000).find(|number| numbers.keep(station(1), *number).is_err());
    let full = full.expect("two pages have an end");
    assert_eq!(kept(&mut open(&chip)), [(1, full - 1), (3, 5)]);
    assert!(open(&chip).keep(station(1), full).is_ok());
}

#[test]
fn power_that_fails_at_any_word_or_page_costs_no_number() {
    // The first page is left after ten more orders; then it is erased.
    for cut in 1..80 {
        let chip = Chip::new();
        let mut numbers = open(&chip);
        for number in 0..300 {
            numbers.keep(station(1), number).unwrap();
        }
        numbers.keep(station(2), 77).unwrap();
        chip.0.borrow_mut().power = Some(cut);
        let (mut kept_last, mut number) = (299, 300);
        loop {
            let done = numbers.keep(station(1), number);
            // What power cut short says nothing: the node has no power to hear it.
            if chip.0.borrow().power == Some(0) {
                break;
            }
            done.unwrap();
            kept_last = number;
            let _tidied = numbers.tidy(Usage::Asleep);
            number += 1;
        }
        chip.0.borrow_mut().power = None;
        for _ in 0..2 {
            let found = kept(&mut open(&chip));
            let told = (1, kept_last);
            assert!(found[0] >= told && found[0].1 <= number, "{cut}: {found:?}");
            assert_eq!(found[1..], [(2, 77)], "{cut}");
        }
    }
}

#[test]
fn what_another_program_left_there_is_no_number() {
    for pattern in [0, 0x4E55_4D42, 0x7257_0000] {
        let mut chip = Chip::new();
        let words = [pattern; PAGE_BYTES as usize / 4];
        for page in 0..u32::from(PAGES) {
            let written = flash().write(&mut chip, Usage::Asleep, page * PAGE_BYTES, &words);
            written.unwrap();
        }
        let mut numbers = open(&chip);
        assert_eq!(kept(&mut numbers), [], "{pattern:#x}");
        numbers.keep(station(1), 8).unwrap();
        assert_eq!(kept(&mut open(&chip)), [(1, 8)], "{pattern:#x}");
    }
}
