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

/// What the style makes of `colour` in the dark, as a fill.
fn in_the_dark(colour: &str) -> String {
    let rule = format!("[fill=\"{colour}\"] {{ fill: ");
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
fn every_depth_can_be_seen_by_day_and_by_night() {
    let (by_day, by_night) = ("#f6f8fa", in_the_dark("#f6f8fa"));
    for colour in BY_HOPS.iter().chain([&SINK, &UNMEASURED, &FAINT]) {
        let day = contrast(colour, by_day);
        assert!(day >= 3.0, "{colour}: {day:.1}");
        let dark = in_the_dark(colour);
        let night = contrast(&dark, &by_night);
        assert!(night >= 3.0, "{colour} as {dark}: {night:.1}");
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
