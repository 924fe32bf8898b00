use super::*;
use std::ops::ControlFlow::Continue;

fn asked(jobs: usize) -> Campaign {
    Campaign {
        first: 1,
        scenarios: 24,
        whom: Whom::Nature,
        jobs: NonZeroUsize::new(jobs).unwrap(),
        after_breach: AfterBreach::GoOn,
    }
}

#[test]
fn threads_change_nothing() {
    let ran = [1, 3].map(|jobs| campaign(&asked(jobs), &mut |_| Continue(())));
    let counts = |t: &Tally| (t.scenarios, t.jobs, t.done, t.delivered, t.events);
    assert_eq!(counts(&ran[0]), counts(&ran[1]));
    assert_eq!(ran[0].breaches, ran[1].breaches);
    assert_eq!(ran[0].unsecured, ran[1].unsecured);
    assert_eq!(ran[0].scenarios, 24);
    assert!(ran[0].breaches.is_empty(), "{:?}", ran[0].breaches);
}

#[test]
fn a_panic_says_what_it_said() {
    let caught = catch_unwind(|| panic!("two\nlines {}", 7)).unwrap_err();
    assert_eq!(said(&*caught), "two lines 7");
}
