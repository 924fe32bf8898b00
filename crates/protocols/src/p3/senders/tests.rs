//! A transfer in numbers, with relays that do harm and relays that are needed.

use super::*;

const ROSTER: Roster = Roster {
    counts: [6, 6],
    own: None,
};

/// A transfer of `packets` of which each relay of `harmful` costs half of its group's while it sends,
/// and without whose `needed` none of its group's come. Who is silent in the end, and how many trials
/// there were.
fn transfer(packets: u16, harmful: &[(Group, u8)], needed: (Group, u8)) -> (Silent, usize) {
    let mut senders = Senders::new(ROSTER);
    let mut all = Count::default();
    let (mut reach, mut trials, mut draw) = (0u16, 0, 7u32);
    let (mut silent, mut next) = (Silent::NOBODY, Stretch::Packets(8));
    while reach < packets {
        let length = match next {
            Stretch::Packets(power) => 1 << power,
            Stretch::Silences(group) => ROSTER.trial(group),
            _ => packets,
        };
        let (first, mut came) = (reach, 0);
        reach = packets.min(first + length);
        for number in first..reach {
            let group = if number % 2 == 0 {
                Group::Even
            } else {
                Group::Odd
            };
            let sends = |(of, relay): (Group, u8)| {
                let mut sender = Sender::new(Roster {
                    own: Some((of, relay)),
                    ..ROSTER
                })
                .unwrap();
                sender.told(next, silent);
                of == group && sender.sends(number)
            };
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let beats = harmful.iter().any(|who| sends(*who)) && draw >> 31 == 0;
            let carried = needed.0 != group || sends(needed);
            if carried && !beats {
                senders.heard(group, number);
                came += 1;
            }
        }
        let round = (reach - first, came);
        match senders.round_over((next, 0), round, reach) {
            Verdict::Usual(sent, came) => all.add(sent, came),
            Verdict::Without(..) | Verdict::Nothing => {}
        }
        (silent, next) = senders.advise(
            (0, Directive::ALL),
            all,
            packets - reach,
            Stretch::Packets(8),
        );
        trials += usize::from(matches!(next, Stretch::Silences(_)));
    }
    (silent, trials)
}

#[test]
fn who_does_harm_is_kept_silent() {
    let harmful = (Group::Odd, 4);
    let (silent, trials) = transfer(8_000, &[harmful], (Group::Odd, 2));
    assert!(silent.keeps(Group::Odd, 4), "{silent:?}");
    assert_eq!((silent.kept(), silent.candidates()), (1, 0), "{silent:?}");
    assert_eq!(trials, 1);
    let harmful = [(Group::Even, 5), (Group::Odd, 0)];
    let (silent, trials) = transfer(12_000, &harmful, (Group::Odd, 2));
    assert!(
        silent.keeps(Group::Even, 5) && silent.keeps(Group::Odd, 0) && silent.kept() == 2,
        "{silent:?}"
    );
    assert_eq!(trials, 2);
}

#[test]
fn nobody_is_tried_where_nothing_is_to_be_had_for_it() {
    let needed = (Group::Even, 1);
    assert_eq!(transfer(8_000, &[], needed), (Silent::NOBODY, 0));
    let short = transfer(600, &[(Group::Odd, 4)], needed);
    assert_eq!(short, (Silent::NOBODY, 0));
    // Two of whom each alone does all the harm: the silence of one changes nothing.
    let both = [(Group::Odd, 3), (Group::Odd, 4)];
    let (silent, trials) = transfer(8_000, &both, needed);
    assert_eq!(silent, Silent::NOBODY);
    assert_eq!(trials, 1);
}

#[test]
fn what_is_known_belongs_to_a_setting_and_silence_ends_where_much_is_lost() {
    let mut senders = Senders::new(ROSTER);
    let mut all = Count::default();
    all.add(400, 300);
    let _ = senders.advise((3, Directive::ALL), all, 4_000, Stretch::Packets(8));
    senders.trial = Trial::Nothing;
    senders.silent.add(Silence {
        group: Group::Odd,
        relay: 1,
        standing: Standing::Kept,
    });
    senders.vain = 1;
    let (silent, _) = senders.advise((3, Directive::ALL), all, 4_000, Stretch::Packets(8));
    assert_eq!(silent.kept(), 1);
    let mut other = senders;
    let (silent, _) = other.advise((4, Directive::ALL), all, 4_000, Stretch::Packets(8));
    assert_eq!(silent, Silent::NOBODY);
    let _ = senders.round_over((Stretch::All, 3), (60, 30), 4_000);
    let (silent, next) = senders.advise((3, Directive::ALL), all, 4_000, Stretch::All);
    assert_eq!((silent, next), (Silent::NOBODY, Stretch::All));
}
