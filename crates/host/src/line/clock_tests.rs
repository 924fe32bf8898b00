use super::*;

const fn ms(ms: u64) -> u64 {
    ms * 1_000_000
}

#[test]
fn the_shortest_way_counts_and_the_rate_is_learned() {
    let mut readings = Readings::default();
    assert_eq!(readings.when(Instant::ZERO), None);
    // A clock 7 s ahead that runs twice as fast; every fifth way there is 1 ms, others are up to 80.
    for n in 0..100u64 {
        let asked = ms(100 * n);
        let there = if n % 5 == 0 { ms(1) } else { ms(20 + n % 60) };
        let local = Instant::from_nanos(ms(7_000) + 2 * (asked + there));
        let host = (asked, asked + there + ms(1));
        readings.add(
            (
                NetworkTime::from_nanos(host.0),
                NetworkTime::from_nanos(host.1),
            ),
            (local, local),
        );
    }
    assert_eq!(readings.best.len(), 10);
    let when = readings.when(Instant::from_nanos(ms(7_000 + 2 * 9_000)));
    let off = when.unwrap().as_secs_f64() - 9.0;
    assert!(off.abs() < 1e-5, "{off}");
    let reads = readings.reads(when.unwrap()).unwrap();
    let off = reads.since(Instant::ZERO).as_secs_f64() - 25.0;
    assert!(off.abs() < 1e-5, "{off}");
    readings.forget();
    assert_eq!(readings.when(Instant::ZERO), None);
}

#[test]
fn impossible_stamps_are_none() {
    let mut readings = Readings::default();
    let [a, b] = [5, 9].map(NetworkTime::from_nanos);
    let [c, d] = [5, 10].map(Instant::from_nanos);
    readings.add((b, a), (c, c));
    readings.add((a, b), (d, c));
    readings.add((a, b), (c, d));
    assert_eq!(readings.when(c), None);
    readings.add((a, b), (c, c));
    assert_eq!(readings.when(c), Some(NetworkTime::from_nanos(7)));
}
