//! Tests of `map.rs`.

use super::*;

/// Relative luminance (WCAG 2.2) of `#rrggbb`.
fn luminance(colour: &str) -> f64 {
    let part = |at: usize| {
        let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        match value <= 0.04045 {
            true => value / 12.92,
            false => ((value + 0.055) / 1.055).powf(2.4),
        }
    };
    0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
}

fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// What the style makes of `colour` in the dark, as a `fill` or a `stroke`.
fn in_the_dark(colour: &str, kind: &str) -> String {
    let rule = format!("[{kind}=\"{colour}\"] {{ {kind}: ");
    let dark = crate::page::STYLE
        .split("prefers-color-scheme: dark")
        .nth(1)
        .unwrap();
    match dark.split(&rule).nth(1) {
        Some(rest) => rest.split([';', ' ']).next().unwrap().to_owned(),
        None => colour.to_owned(),
    }
}

#[test]
fn what_a_map_shows_can_be_seen_by_day_and_by_night() {
    // The ground of a floor, and paper written out.
    let (ground, paper) = ("#f6f8fa", "#ffffff");
    let (dark_ground, dark_paper) = (in_the_dark(ground, "fill"), in_the_dark(PAPER, "fill"));
    let nodes = BY_HOPS.iter().chain([&SINK, &UNMEASURED, &FAINT]);
    let lines = [SINK, SOURCE, LINK, OTHER_LINK, FAINT];
    let shown = nodes.map(|colour| (*colour, "fill"));
    for (colour, kind) in shown.chain(lines.map(|colour| (colour, "stroke"))) {
        let dark = in_the_dark(colour, kind);
        for (colour, ground) in [(colour, ground), (&dark, &dark_ground)] {
            let seen = contrast(colour, ground);
            assert!(seen >= 3.0, "{kind} {colour} on {ground}: {seen:.1}");
        }
    }
    // Numbers stand in nodes, in the colour of paper.
    for colour in BY_HOPS.iter().chain([&SINK, &UNMEASURED]) {
        let dark = in_the_dark(colour, "fill");
        for (colour, paper) in [(*colour, paper), (&*dark, &*dark_paper)] {
            let read = contrast(colour, paper);
            assert!(read >= 4.5, "a number in {colour}: {read:.1}");
        }
    }
}

#[test]
fn the_scale_is_as_long_as_the_network_is_deep() {
    for deepest in 2..=7 {
        let colours: Vec<&str> = (1..=deepest).map(|hops| by_hops(hops, deepest)).collect();
        assert_eq!((colours[0], colours[deepest - 1]), (BY_HOPS[0], BY_HOPS[6]));
        let mut distinct = colours.clone();
        distinct.dedup();
        assert_eq!(distinct.len(), deepest, "{colours:?}");
    }
    assert_eq!((by_hops(0, 0), by_hops(1, 1)), (SINK, BY_HOPS[0]));
    assert_eq!(by_hops(40, 40), BY_HOPS[6]);
}
