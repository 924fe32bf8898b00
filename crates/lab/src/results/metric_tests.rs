//! Metrics over rows.

use super::*;

fn rows() -> [Row; 5] {
    let p3 = [(1u64, "p3", 10.0), (1, "p3", 30.0), (2, "p3", 40.0)];
    let cases = [p3[0], p3[1], p3[2], (1, "pip", 0.0), (2, "pip", 6.0)];
    cases.map(|(seed, p, x)| Row::new().with(SEED, seed).with("protocol", p).with("x", x))
}
fn spec(stat: Statistic, by: &[&str]) -> MetricSpec {
    MetricSpec {
        name: "m".into(),
        of: "x".into(),
        over: None,
        ratio: Ratio::OfEach,
        against: None,
        minus: None,
        stat,
        scale: 1.0,
        unit: String::new(),
        confidence: None,
        best: None,
        most: None,
        by: by.iter().map(|s| (*s).to_owned()).collect(),
        only: BTreeMap::new(),
    }
}

#[test]
fn a_seed_counts_once_however_many_rows_it_has() {
    let m = spec(Statistic::Mean, &["protocol"]).measure(&rows());
    assert_eq!(m.len(), 2);
    assert_eq!((m[0].value, m[0].n), (30.0, 2)); // mean of 20 and 40
    assert_eq!((m[1].value, m[1].n), (3.0, 2));
}

#[test]
fn shares_and_extremes() {
    let zero = spec(Statistic::ShareZero, &["protocol"]).measure(&rows());
    assert_eq!((zero[0].value, zero[1].value), (0.0, 0.5));
    assert_eq!(spec(Statistic::Max, &[]).measure(&rows())[0].value, 35.0);
}

#[test]
fn filters_and_missing_columns_leave_rows_out() {
    let mut m = spec(Statistic::Count, &[]);
    m.only.insert("protocol".into(), Value::from("pip"));
    assert_eq!(m.measure(&rows())[0].value, 1.0);
    m.of = "absent".into();
    assert!(m.measure(&rows()).is_empty());
}

#[test]
fn ratios_are_of_sums_and_the_best_is_of_means() {
    let mut ratio = spec(Statistic::Sum, &[]);
    ratio.over = Some("seed".into());
    // Seed 1: 10 + 30 + 0 over 3; seed 2: 46 over 4.
    let expected = (40.0 / 3.0 + 46.0 / 4.0) / 2.0;
    assert!((ratio.measure(&rows())[0].value - expected).abs() < 1e-12);
    ratio.scale = 1e3;
    assert!((ratio.measure(&rows())[0].value - 1e3 * expected).abs() < 1e-9);
    ratio.over = Some("absent".into());
    assert!(ratio.measure(&rows()).is_empty());
    let cases = [
        (1u64, 40.0, 5.0),
        (1, 118.0, 9.0),
        (2, 40.0, 8.0),
        (2, 118.0, 7.0),
    ];
    let row = |(seed, p, x)| Row::new().with(SEED, seed).with("payload", p).with("x", x);
    let rows = cases.map(row);
    let best = spec(Statistic::BestOf("payload".into()), &[]).measure(&rows);
    assert_eq!(best[0].value, 118.0);
    let between = spec(Statistic::ShareBetween(5.0, 8.0), &[]).measure(&rows);
    assert_eq!(between[0].value, 0.75);
}

#[test]
fn one_protocol_against_another_seed_by_seed() {
    let mut m = spec(Statistic::Mean, &[]);
    m.only.insert("protocol".into(), Value::from("p3"));
    m.against = Some([("protocol".to_owned(), Value::from("pip"))].into());
    // Seed 1: 20 over 0, which says nothing; seed 2: 40 over 6.
    let ratio = m.measure(&rows());
    assert_eq!((ratio[0].n, ratio[0].value), (1, 40.0 / 6.0));
    m.against = Some([("protocol".to_owned(), Value::from("none"))].into());
    assert!(m.measure(&rows()).is_empty());
    // A difference counts where there is nothing: 20 less 0, 40 less 6.
    m.against = None;
    m.minus = Some([("protocol".to_owned(), Value::from("pip"))].into());
    let less = m.measure(&rows());
    assert_eq!((less[0].n, less[0].value), (2, 27.0));
}

#[test]
fn most_of_a_columns_values_is_a_share_of_their_means() {
    let cases = [
        (1u64, 11u64, 0.2),
        (2, 11, 0.6),
        (1, 12, 0.9),
        (2, 12, 0.1),
        (1, 13, 0.9),
    ];
    let row = |(seed, channel, x)| Row::new().with(SEED, seed).with("c", channel).with("x", x);
    let mut m = spec(Statistic::Mean, &[]);
    m.most = Some(MostSpec {
        of: "c".into(),
        between: [0.3, 0.7],
    });
    // Means .4, .5 and .9.
    let most = m.measure(&cases.map(row));
    assert_eq!(most.len(), 1);
    assert!((most[0].value - 2.0 / 3.0).abs() < 1e-12 && most[0].at.is_empty());
}

#[test]
fn rates_do_not_go_below_nothing() {
    let row = |(seed, x): (u64, f64)| Row::new().with(SEED, seed).with("x", x);
    let m = spec(Statistic::Mean, &[]).measure(&[(1, 0.0), (2, 0.0), (3, 9.0)].map(row));
    let [low, high] = m[0].ci95.unwrap();
    assert!(low == 0.0 && high > 9.0);
}

#[test]
fn a_pooled_ratio_is_of_the_sums_of_all_seeds() {
    let cases = [
        (1u64, 1.0, 4.0),
        (1, 0.0, 1.0),
        (2, 3.0, 1.0),
        (3, 0.0, 2.0),
    ];
    let row = |(seed, x, y)| Row::new().with(SEED, seed).with("x", x).with("y", y);
    let mut m = spec(Statistic::Sum, &[]);
    m.over = Some("y".into());
    // .2, 3 and 0.
    let mean = m.measure(&cases.map(row))[0].value;
    assert!((mean - 3.2 / 3.0).abs() < 1e-12);
    m.ratio = Ratio::Pooled;
    let pooled = m.measure(&cases.map(row)).remove(0);
    assert!((pooled.value - 0.5).abs() < 1e-12 && pooled.n == 3);
    // Seeds are 1.5 below, 2.5 above and 1 below half of their `y`, which is 8/3 on average; Student's t of 2 is 4.303.
    let half = 4.303 * ((1.5f64.powi(2) + 2.5f64.powi(2) + 1.0) / 2.0 / 3.0).sqrt() / (8.0 / 3.0);
    let [low, high] = pooled.ci95.unwrap();
    assert!(
        low == 0.0 && (high - 0.5 - half).abs() < 1e-3,
        "{high} {half}"
    );
    assert_eq!(m.unfit_ratio(), None);
    m.stat = Statistic::Mean;
    assert!(m.unfit_ratio().is_some());
}
