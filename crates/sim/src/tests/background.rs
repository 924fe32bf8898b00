//! Interrupts before tasks before background work: what waits for what, and for how long.

use super::serial::{air, began, go, on, slow};
use super::{answer, heard, local, net_on, run, us, Order::*, Puppet, Seen};
use crate::{Activity, Background, BackgroundRuns, Board, Network};
use std::sync::{Arc, Mutex};

/// `board` with a run of `takes` every `every` microseconds.
fn with_background(board: Board, every: u64, takes: u64) -> Board {
    let background = Some(Background {
        every: us(every),
        takes: us(takes),
    });
    Board {
        background,
        ..board
    }
}

/// Frames, conditional transmissions, time-outs: everything that software does.
fn busy(board: Board) -> Network<Puppet> {
    let mut net = net_on(board, 2);
    net.command(0, Listen(26));
    net.command(1, Listen(26));
    net.command(1, Load(0, vec![9; 50]));
    net.command(1, Upon(vec![1], 15));
    run(&mut net, 3000);
    for n in 0..4 {
        net.command(0, Load(0, vec![1 + n; 30]));
        net.command(0, go());
        net.command(1, Timeout(local(4000 + 6000 * u64::from(n))));
        run(&mut net, 3000 + 6000 * u64::from(n + 1));
    }
    run(&mut net, 40_000);
    net
}

fn times(net: &Network<Puppet>) -> Vec<(u64, String)> {
    let seen = (0..2).flat_map(|n| &net.engine(n).seen);
    seen.map(|(at, op, seen)| {
        (
            at.as_nanos() / 1000,
            format!("{op:?} {seen:?}").replace(char::is_numeric, ""),
        )
    })
    .collect()
}

#[test]
fn background_work_delays_nothing_but_by_the_context_switch() {
    let alone = times(&busy(slow()));
    for every in [50, 333, 1000, 7000] {
        // All the time that is left, and half of it.
        for takes in [every, every / 2] {
            let free = busy(with_background(slow(), every, takes));
            assert_eq!(times(&free), alone, "{every} {takes}");
            assert!(free.background(1).done > 0 && free.background(1).stopped > 0);
            let switch = 9;
            let dear = busy(with_background(on(|c| c.switch = us(switch)), every, takes));
            let stopped = u64::from(dear.background(0).stopped + dear.background(1).stopped);
            let mut late = 0;
            for ((at, what), (before, same)) in times(&dear).iter().zip(&alone) {
                assert_eq!(what, same);
                late = late.max(at - before);
                assert!(
                    at >= before && at - before <= switch * stopped,
                    "{at} {before} {what}"
                );
            }
            assert!(late >= switch || takes < every, "it was left at least once");
        }
    }
}

#[test]
fn what_is_left_of_the_time_is_the_backgrounds() {
    let board = with_background(slow(), 500, 500);
    let mut net = net_on(board, 1);
    run(&mut net, 100_400);
    // From its first run on, nothing else wants the microcontroller.
    let BackgroundRuns {
        done,
        missed,
        stopped,
    } = net.background(0);
    assert_eq!((done + missed, stopped), (200, 0), "{done} {missed}");
    assert!(missed <= 1, "{missed}");

    // Tasks of 500 us every millisecond leave half of it.
    let mut net = net_on(with_background(slow(), 500, 500), 1);
    for n in 1..100 {
        net.command(0, Timeout(local(1000 * n)));
        run(&mut net, 1000 * n + 999);
    }
    let runs = net.background(0);
    assert!((95..=102).contains(&runs.done), "{runs:?}");
    assert!((95..=102).contains(&runs.missed), "{runs:?}");
}

#[test]
fn a_task_that_waits_for_the_radio_leaves_its_time_to_the_background() {
    let spans = Arc::new(Mutex::new(Vec::new()));
    let seen = spans.clone();
    let mut net = net_on(with_background(slow(), 1000, 1000), 1);
    net.spans(Some(Box::new(move |span| {
        let us = |at: thalweg_units::SimTime| at.as_nanos() / 1000;
        seen.lock()
            .unwrap()
            .push((span.activity, us(span.from), us(span.until)));
    })));
    run(&mut net, 2000);
    net.command(0, Load(0, vec![1; 100]));
    net.command(0, go());
    run(&mut net, 4000);
    net.command(0, Load(0, vec![2; 100]));
    run(&mut net, 12_000);
    let spans = spans.lock().unwrap();
    let sent = spans
        .iter()
        .find(|s| s.0 == Activity::Transmit)
        .copied()
        .unwrap();
    // The second frame is written when the first is sent; meanwhile there is time.
    let of = |what| spans.iter().filter(move |s| s.0 == what);
    assert_eq!(of(Activity::Load).next_back().unwrap().1, sent.2);
    let between = of(Activity::Background).filter(|s| s.1 >= sent.1 && s.2 <= sent.2);
    let time: u64 = between.map(|s| s.2 - s.1).sum();
    assert!(time + 1000 >= sent.2 - sent.1, "{time}");
}

#[test]
fn tasks_with_interrupts_off_delay_them_as_the_board_says() {
    // A frame ends 250 us after a task of 500 us began.
    let begin = |atomic: u64| {
        let mut net = net_on(on(|c| c.atomic = us(atomic)), 2);
        net.command(0, Listen(26));
        net.command(1, Listen(26));
        net.command(1, Load(0, vec![9; 50]));
        net.command(1, Upon(vec![1], 26));
        run(&mut net, 3000);
        net.command(0, Load(0, vec![1; 30]));
        net.command(0, go());
        let end = 3000 + 300 + 100 + 192 + air(30);
        net.command(1, Timeout(local(end - 250)));
        run(&mut net, 20_000);
        assert_eq!(began(&net, 0, 2) + air(30), end);
        assert!(heard(&net, 1)
            .iter()
            .any(|(at, s)| *s == Seen::Timeout && *at == end - 250));
        assert!(matches!(answer(&net, 1, 2).1, Seen::Sent { .. }));
        began(&net, 1, 2) - end
    };
    let free = 10 + 40 + 100 + 192;
    assert_eq!(begin(0), free);
    // Till the next time that they are on: 300, 400 and 500 us into the task.
    assert_eq!(begin(100), free + 50);
    assert_eq!(begin(200), free + 150);
    assert_eq!(begin(1000), free + 250);
}
