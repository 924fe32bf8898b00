//! Tests of `figure.rs`.

use super::*;

fn spec(text: &str) -> FigureSpec {
    let axes = "name='f'\ntitle='T'\nx={column='x',label='X'}\ny={column='y',label='Y'}\n";
    toml::from_str(&format!("{axes}{text}")).unwrap()
}
fn rows() -> Vec<Row> {
    let cases = [
        (1u64, "a", 1u64, 2.0),
        (2, "a", 1, 4.0),
        (3, "a", 1, 3.0),
        (1, "b", 1, 9.0),
        (1, "a", 10, 5.0),
    ];
    let row = |(seed, s, x, y)| {
        let row = Row::new().with(SEED, seed).with("s", s);
        row.with("x", x).with("y", y)
    };
    cases.map(row).to_vec()
}

#[test]
fn seeds_are_averaged_and_series_told_apart() {
    let chart = spec("series='s'\nmark='lines'").draw(&rows());
    assert_eq!(chart.series.len(), 2);
    let point = chart.series[0].points[0];
    assert_eq!((point.x, point.y), (1.0, 3.0));
    assert!(point.interval.is_some());
    assert_eq!(chart.subtitle, "3 seeds");
    let first = spec("series='s'\nover='first-seed'").draw(&rows());
    assert_eq!(first.series[0].points[0].y, 2.0);
    let names = XAxis::Categories(vec!["1".into(), "10".into()]);
    assert_eq!(first.x_axis, names);
}

#[test]
fn what_stands_beside_is_drawn_lightly_and_last() {
    let chart = spec("series='s'\nbeside=['a']").draw(&rows());
    let drawn = |c: &Chart| -> Vec<(String, Weight, PlotMark)> {
        let series = c.series.iter();
        series.map(|s| (s.name.clone(), s.weight, s.mark)).collect()
    };
    let expected = [
        ("b".to_owned(), Weight::Full, PlotMark::Bars),
        ("a".to_owned(), Weight::Light, PlotMark::Scatter),
    ];
    assert_eq!(drawn(&chart), expected);
    assert!(chart.to_svg().contains("a at 10: 5"));
    let mut by_name = spec("beside=['a']\nmark='bars'");
    by_name.x.column = "s".into();
    let chart = by_name.draw(&rows());
    let names = XAxis::Categories(vec!["b".into(), "a".into()]);
    assert_eq!(chart.x_axis, names);
    let light = (String::new(), Weight::Light, PlotMark::Bars);
    assert_eq!(drawn(&chart)[1], light);
}

#[test]
fn the_papers_values_stand_beside_ours() {
    let text = "[[reference]]\nlabel='p'\npoints=[[10,7.0]]\n[[reference]]\nlabel='l'\nvalue=3.0";
    let chart = spec(text).draw(&rows());
    let points = ReferenceAt::Points(vec![(1.0, 7.0)]);
    assert_eq!(chart.references[0].at, points);
    assert_eq!(chart.references[1].at, ReferenceAt::Level(3.0));
    let cdf = spec("mark='distribution'").draw(&rows());
    assert_eq!(cdf.series[0].points.last().map(|p| p.y), Some(1.0));
    assert!(!spec("where={s='none'}").draw(&rows()).to_svg().is_empty());
}
