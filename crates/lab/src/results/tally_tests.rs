//! Tests of `tally.rs`.

use crate::results::{Claims, Measured, Tally};

#[test]
fn kinds_are_counted_apart() {
    let claim = |metric: &str, more: &str| {
        format!("[[claim]]\nid='e'\nmetric='{metric}'\nsource='s'\n{more}\n")
    };
    let text = [
        claim("a", "band=[0.0,1.0]"),
        claim("b", "band=[0.0,1.0]\njudged='own'"),
        claim("c", "band=[0.0,1.0]\nfitted={constant='k'}"),
        claim("d", "reference=1.0"),
        claim("gone", "band=[0.0,1.0]"),
        claim("never", "reference=1.0"),
    ];
    let claims: Claims = toml::from_str(&text.concat()).unwrap();
    let measured = |(metric, value): (&str, f64)| Measured {
        metric: metric.into(),
        at: [].into(),
        value,
        ci95: None,
        ci99: None,
        n: 1,
        unit: String::new(),
    };
    let all = [("a", 0.5), ("b", 2.0), ("c", 0.5), ("d", 2.0)].map(measured);
    let judge =
        |m: &Measured| claims.judge("e", None, m.clone(), &all, crate::results::Extent::Full);
    let results: Vec<_> = all.iter().map(judge).collect();
    let tally = Tally::of(&results, claims.unanswered("e", &all));
    assert_eq!(
        tally.lines(),
        [
            "judged by the papers' bands: 1 of 2 within, 1 not measured",
            "judged by requirements of our own: 0 of 1 within",
            "[F] with a constant fitted to them: 1 of 1 within",
            "printed only: 1",
        ]
    );
}
