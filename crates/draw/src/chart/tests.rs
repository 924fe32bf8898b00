use super::*;

/// How often a text occurs.
fn count(svg: &str, what: &str) -> usize {
    svg.matches(what).count()
}

fn routes() -> Chart {
    let p3 = [190.0, 181.0, 152.5, 176.0, 199.0];
    let pip = [98.0, 0.0, 0.0, 45.0, 0.0];
    let with_interval = |(i, y): (usize, &f64)| Point::new(i as f64, *y).within(y - 8.0, y + 6.0);
    let mut chart = Chart::new("Goodput by route", "route", "kbit/s")
        .with("P3", Mark::Bars, p3.iter().enumerate().map(with_interval))
        .with(
            "PIP",
            Mark::Bars,
            pip.iter()
                .enumerate()
                .map(|(i, y)| Point::new(i as f64, *y)),
        )
        .beside("P3 in the paper, mean 178.5", ReferenceAt::Level(178.5))
        .beside("PIP in the paper, mean 31", ReferenceAt::Level(31.0));
    let routes = ["1", "2", "3", "4", "5"].map(str::to_owned);
    chart.x_axis = XAxis::Categories(routes.to_vec());
    chart.subtitle = "five routes, 500 packets of 118 bytes".into();
    chart
}

#[test]
fn every_value_reference_and_label_is_drawn_once() {
    let svg = routes().to_svg();
    // The white ground, ten bars, two legend keys.
    assert_eq!(count(&svg, "<rect"), 1 + 10 + 2);
    assert_eq!(count(&svg, "stroke-dasharray"), 2 + 2);
    assert_eq!(count(&svg, ">kbit/s</text>"), 1);
    assert!(svg.contains("P3 at 3: 152.5 [144.5, 158.5]"));
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(svg, routes().to_svg());
}

#[test]
fn taller_values_are_drawn_higher() {
    let chart = Chart::new("", "", "").with(
        "a",
        Mark::Scatter,
        [Point::new(1.0, 10.0), Point::new(2.0, 30.0)],
    );
    let svg = chart.to_svg();
    let ys: Vec<f64> = svg
        .split("cy=\"")
        .skip(1)
        .filter_map(|s| s.split('"').next()?.parse().ok())
        .collect();
    // The legend's key comes first.
    assert!(ys[1] > ys[2], "{ys:?}");
}

#[test]
fn nothing_that_is_not_finite_reaches_the_picture() {
    let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -3.0, 1e300];
    for mark in [Mark::Line, Mark::Steps, Mark::Bars, Mark::Scatter] {
        for axis in [XAxis::Linear, XAxis::Categories(vec!["a".into()])] {
            let points = odd
                .iter()
                .flat_map(|x| odd.map(|y| Point::new(*x, y).within(y, f64::NAN)));
            let mut chart = Chart::new("odd", "x", "y").with("s", mark, points);
            chart.x_axis = axis;
            let chart = chart.beside("r", ReferenceAt::Level(f64::NAN));
            let svg = chart.to_svg();
            let bad = svg.contains("=\"NaN") || svg.contains("=\"inf");
            assert!(!bad, "{mark:?}");
        }
    }
    assert!(Chart::new("", "", "").to_svg().contains("no data"));
}

#[test]
fn names_cannot_become_markup() {
    let svg = Chart::new("<b>&\"", "\u{1}", "").to_svg();
    assert!(svg.contains("&lt;b&gt;&amp;&quot;") && !svg.contains('\u{1}'));
}

/// A chart with so many series, each of two values.
fn many(series: usize, mark: Mark) -> String {
    let values = |n: usize| [0.0, 1.0].map(|x| Point::new(x, n as f64));
    let with = |chart: Chart, n: usize| chart.with(format!("s{n}"), mark, values(n));
    (0..series).fold(Chart::new("", "", ""), with).to_svg()
}

#[test]
fn ten_series_are_told_apart_without_colour() {
    let steps = many(10, Mark::Steps);
    let dashes = steps.split("<polyline").skip(1).map(|line| {
        let dashes = line.split("stroke-dasharray=\"").nth(1);
        dashes.map_or("", |rest| rest.split('"').next().unwrap_or_default())
    });
    let mut dashes: Vec<&str> = dashes.collect();
    dashes.sort_unstable();
    dashes.dedup();
    assert_eq!(dashes.len(), 10, "{dashes:?}");
    // Marks of a legend stand at several places; their ways from corner to corner are the shapes.
    let lines = many(10, Mark::Line);
    assert_eq!(count(&lines, "<circle"), 3);
    assert_eq!(count(&lines, "<path"), 27);
}

#[test]
fn an_axis_says_where_it_begins_if_asked() {
    let volts = [2.91, 2.84, 2.80].into_iter().enumerate();
    let volts = volts.map(|(x, y)| Point::new(x as f64, y));
    let mut chart = Chart::new("", "", "V").with("", Mark::Line, volts);
    assert!(chart.to_svg().contains(">V</text>"));
    chart.base = Base::ToldZero;
    assert!(chart.to_svg().contains(">V, from 0</text>"));
    chart.base = Base::ToldLeast;
    let svg = chart.to_svg();
    assert!(
        svg.contains(">V, from 2.80</text>") && !svg.contains(">0.00</text>"),
        "{svg}"
    );
}
