//! A map of a realised testbed as SVG: nodes floor by floor (or by their links, where nobody knows
//! their places), links on channel 26 shaded by expected reception ratio, the sink, a scale bar, and
//! the distributions of degree and hops. Tests: below; how it looks is judged by eye.

use thalweg_medium::Environment;
use thalweg_units::Channel;

use super::summary::{good_neighbours, hops, of_channel, ratio, ratios, ChannelSummary, Ratio};
use super::{layout, SummaryOptions, Testbed};
use crate::plot::svg::{Anchor, Svg, FAINT, INK};
use crate::plot::{Chart, Mark, Point};

const WIDTH: f64 = 1000.0;
const MARGIN: f64 = 36.0;
/// Space above the picture for the title.
const HEAD: f64 = 70.0;
/// Height of the small plots.
const PLOT_HEIGHT: f64 = 230.0;
/// Between two floors.
const FLOOR_GAP: f64 = 64.0;
/// Least height of a floor in pixels; a narrower one is stretched across.
const MIN_STRIP: f64 = 90.0;
/// Most height of all floors together.
const MAX_STRIPS: f64 = 560.0;

const SINK: &str = "#c4161c";
const SAME_FLOOR: &str = "#2b5c8a";
const BETWEEN_FLOORS: &str = "#c07a1e";
/// Colours of nodes by hops from the sink: near dark, far light.
const BY_HOPS: [&str; 7] = [
    "#c4161c", "#0b3c5d", "#1f6f8b", "#3a9d9d", "#7cc08c", "#c3d96b", "#f1e05a",
];

/// The map of `environment`, a site of `testbed`. Links are those of a full-length frame at 0 dBm.
pub fn map_svg(testbed: &Testbed, environment: &Environment) -> String {
    let options = SummaryOptions::default();
    let channel = testbed.channels.iter().next_back().unwrap_or(Channel::LAST);
    let ratios = ratios(environment, channel, &options);
    let sink = testbed.sink_index();
    let neighbours = good_neighbours(&ratios, options.good_prr);
    let from_sink = hops(&neighbours, sink);
    let numbers = of_channel(&ratios, channel, sink, &options);
    let ground = Ground::of(environment, &ratios, &from_sink);

    let height = HEAD + ground.height + 34.0 + PLOT_HEIGHT + 10.0;
    let mut svg = Svg::new(WIDTH, height, &format!("Map of testbed {}", testbed.name));
    heading(&mut svg, testbed, &numbers);
    ground.draw_floors(&mut svg);
    draw_links(&mut svg, &ratios, &ground);
    draw_nodes(&mut svg, testbed, &ground, &from_sink, &neighbours);
    ground.draw_scale(&mut svg);
    let top = HEAD + ground.height + 34.0;
    let half = (WIDTH - 2.0 * 16.0) / 2.0;
    let degree = format!(
        "neighbours (ratio at least {}), mean {:.1}",
        options.neighbour_prr, numbers.degree.mean
    );
    small_plot(
        &mut svg,
        (16.0, top),
        half,
        "Degree",
        &degree,
        &numbers.degree_histogram,
    );
    let far = format!(
        "hops to the sink over links good both ways (at least {})",
        options.good_prr
    );
    small_plot(
        &mut svg,
        (16.0 + half, top),
        half,
        "Hops",
        &far,
        &numbers.hops_histogram,
    );
    svg.finish()
}

fn heading(svg: &mut Svg, testbed: &Testbed, numbers: &ChannelSummary) {
    let bold = format!("fill=\"{INK}\" font-weight=\"600\"");
    svg.styled_text((MARGIN, 30.0), Anchor::Start, 18.0, &bold, &testbed.name);
    let unreachable = match numbers.unreachable {
        0 => "all reach the sink".to_owned(),
        n => format!("{n} cannot reach the sink"),
    };
    let line = format!(
        "{} nodes, sink {}; channel {} at 0 dBm: {} good links, {:.1} neighbours a node, {} hops deep, {unreachable}",
        testbed.len(),
        testbed.sink,
        numbers.channel,
        numbers.good_links,
        numbers.degree.mean,
        numbers.hops.max,
    );
    svg.text((MARGIN, 50.0), Anchor::Start, 12.0, FAINT, &line);
}

/// A floor's strip in the picture.
struct Strip {
    floor: u16,
    top: f64,
    height: f64,
}

/// Where everything is in the picture.
struct Ground {
    height: f64,
    strips: Vec<Strip>,
    /// Per node: its place in pixels, and its floor.
    places: Vec<((f64, f64), u16)>,
    /// Pixels per metre along and across; `None` where there are no metres.
    scale: Option<(f64, f64)>,
}

impl Ground {
    fn of(environment: &Environment, ratios: &[Vec<Ratio>], from_sink: &[Option<usize>]) -> Self {
        let placed: Option<Vec<_>> = environment.ears.iter().map(|e| e.placement).collect();
        match placed {
            Some(placed) if !placed.is_empty() => Self::of_places(&placed),
            _ => Self::of_links(ratios, from_sink),
        }
    }

    fn of_places(placed: &[thalweg_medium::Placement]) -> Self {
        let ends = |of: fn(&thalweg_medium::Position) -> f64| {
            placed
                .iter()
                .map(|p| of(&p.position))
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                    (low.min(v), high.max(v))
                })
        };
        let ((left, right), (low, high)) = (ends(|p| p.x_m), ends(|p| p.y_m));
        let (length, width) = ((right - left).max(0.1), (high - low).max(0.1));
        let mut floors: Vec<u16> = placed.iter().map(|p| p.floor).collect();
        floors.sort_unstable();
        floors.dedup();
        let count = floors.len() as f64;
        let inner = WIDTH - 2.0 * MARGIN - 2.0 * 12.0;
        let most = (MAX_STRIPS - (count - 1.0) * FLOOR_GAP).max(count * MIN_STRIP) / count;
        let along = (inner / length).min(if width < 1.0 {
            f64::INFINITY
        } else {
            most / width
        });
        let strip = (along * width).clamp(MIN_STRIP - 30.0, most);
        // One row of nodes needs no stretching.
        let across = if width < 1.0 {
            along.min(strip / width)
        } else {
            strip / width
        };
        let spare = (strip - across * width) / 2.0;
        // The top floor on top.
        let strips: Vec<Strip> = floors
            .iter()
            .rev()
            .enumerate()
            .map(|(rank, floor)| Strip {
                floor: *floor,
                top: HEAD + 12.0 + rank as f64 * (strip + 24.0 + FLOOR_GAP),
                height: strip,
            })
            .collect();
        let offset = MARGIN + 12.0 + (inner - along * length) / 2.0;
        let places = placed
            .iter()
            .map(|p| {
                let top = strips
                    .iter()
                    .find(|s| s.floor == p.floor)
                    .map_or(HEAD, |s| s.top);
                let x = offset + (p.position.x_m - left) * along;
                ((x, top + spare + (high - p.position.y_m) * across), p.floor)
            })
            .collect();
        let height = count * (strip + 24.0) + (count - 1.0) * FLOOR_GAP;
        Self {
            height,
            strips,
            places,
            scale: Some((along, across)),
        }
    }

    fn of_links(ratios: &[Vec<Ratio>], from_sink: &[Option<usize>]) -> Self {
        // Every link that now and then carries a frame holds the picture together.
        let mut neighbours = vec![Vec::new(); ratios.len()];
        for (from, link) in ratios
            .iter()
            .enumerate()
            .flat_map(|(i, r)| r.iter().map(move |l| (i, l)))
        {
            let back = ratio(ratios, link.to, from);
            if back == 0.0 || from < link.to {
                for (a, b) in [(from, link.to), (link.to, from)] {
                    if let Some(row) = neighbours.get_mut(a) {
                        row.push(b);
                    }
                }
            }
        }
        let mut order: Vec<usize> = (0..neighbours.len()).collect();
        order.sort_by_key(|node| {
            from_sink
                .get(*node)
                .copied()
                .flatten()
                .unwrap_or(usize::MAX)
        });
        let height = MAX_STRIPS;
        let places = layout::places(&neighbours, &order)
            .into_iter()
            .map(|(x, y)| {
                let at = (
                    MARGIN + 24.0 + x * (WIDTH - 2.0 * MARGIN - 48.0),
                    HEAD + 20.0 + y * (height - 40.0),
                );
                (at, 0)
            })
            .collect();
        Self {
            height,
            strips: Vec::new(),
            places,
            scale: None,
        }
    }

    fn draw_floors(&self, svg: &mut Svg) {
        for strip in &self.strips {
            svg.rect(
                MARGIN,
                strip.top - 12.0,
                WIDTH - 2.0 * MARGIN,
                strip.height + 24.0,
                "fill=\"#f6f8fa\" stroke=\"#d5dbe1\" rx=\"6\"",
                None,
            );
            if self.strips.len() > 1 {
                let at = (MARGIN - 10.0, strip.top + strip.height / 2.0);
                let name = format!("floor {}", strip.floor);
                svg.turned_text(at, Anchor::Middle, 11.0, -90.0, FAINT, &name);
            }
        }
    }

    fn draw_scale(&self, svg: &mut Svg) {
        let y = HEAD + self.height + 18.0;
        let legend = [
            (SAME_FLOOR, "link on a floor"),
            (BETWEEN_FLOORS, "link between floors"),
        ];
        let mut x = MARGIN + 250.0;
        for (colour, name) in legend
            .into_iter()
            .take(if self.strips.len() > 1 { 2 } else { 1 })
        {
            let name = if self.strips.len() > 1 { name } else { "link" };
            let stroke = format!("stroke=\"{colour}\" stroke-width=\"2\"");
            svg.line((x, y - 4.0), (x + 22.0, y - 4.0), &stroke);
            svg.text((x + 28.0, y), Anchor::Start, 11.0, FAINT, name);
            x += 44.0 + 6.2 * name.len() as f64;
        }
        svg.text(
            (x, y),
            Anchor::Start,
            11.0,
            FAINT,
            "(darker: higher ratio)   hops:",
        );
        x += 172.0;
        for (hop, colour) in BY_HOPS.iter().enumerate() {
            let at = (x + 20.0 * hop as f64, y - 4.0);
            svg.circle(at, 5.0, &format!("fill=\"{colour}\" stroke=\"#fff\""), None);
        }
        let from = "0 to 6 or more";
        svg.text((x + 140.0, y), Anchor::Start, 11.0, FAINT, from);
        let Some((along, across)) = self.scale else {
            let note = "places unknown: drawn by links";
            svg.text((MARGIN, y), Anchor::Start, 11.0, FAINT, note);
            return;
        };
        // The longest round length of at most 180 pixels.
        let metres = [
            1000.0, 500.0, 200.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0, 0.5, 0.1,
        ];
        let bar = metres
            .into_iter()
            .find(|m| m * along <= 180.0)
            .unwrap_or(0.1);
        let end = MARGIN + bar * along;
        let stroke = format!("stroke=\"{INK}\" stroke-width=\"1.5\"");
        svg.line((MARGIN, y - 4.0), (end, y - 4.0), &stroke);
        for x in [MARGIN, end] {
            svg.line((x, y - 8.0), (x, y), &stroke);
        }
        let stretched = across / along;
        let note = if (stretched - 1.0).abs() < 0.05 {
            format!("{bar} m")
        } else {
            format!("{bar} m (across x{stretched:.1})")
        };
        svg.text((end + 8.0, y), Anchor::Start, 11.0, INK, &note);
    }
}

fn draw_links(svg: &mut Svg, ratios: &[Vec<Ratio>], ground: &Ground) {
    // Pairs, by the better of their directions; weak ones below strong ones.
    let mut pairs = Vec::new();
    for (from, row) in ratios.iter().enumerate() {
        for link in row {
            let back = ratio(ratios, link.to, from);
            let better = link.prr.max(back);
            if (back == 0.0 || from < link.to) && better >= 0.1 {
                pairs.push((better, from, link.to));
            }
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    // Many links need less ink each.
    let ink = (30.0 / (pairs.len() as f64).sqrt()).clamp(0.12, 1.0);
    for (floors, colour) in [("between", BETWEEN_FLOORS), ("same", SAME_FLOOR)] {
        svg.open(&format!(
            "class=\"links-{floors}\" stroke=\"{colour}\" fill=\"none\""
        ));
        for (prr, a, b) in &pairs {
            let (Some((at, floor)), Some((to, other))) =
                (ground.places.get(*a), ground.places.get(*b))
            else {
                continue;
            };
            if (floor == other) != (floors == "same") {
                continue;
            }
            let stroke = format!(
                "stroke-opacity=\"{:.2}\" stroke-width=\"{:.1}\"",
                ink * (0.1 + 0.6 * prr * prr),
                0.5 + 0.7 * prr
            );
            svg.line(*at, *to, &stroke);
        }
        svg.close();
    }
}

fn draw_nodes(
    svg: &mut Svg,
    testbed: &Testbed,
    ground: &Ground,
    from_sink: &[Option<usize>],
    neighbours: &[Vec<usize>],
) {
    let sink = testbed.sink_index();
    let small = ground.places.len() > 60;
    let radius = if small { 5.0 } else { 10.0 };
    for (node, (at, _)) in ground.places.iter().enumerate() {
        let Some(id) = testbed.id_of(node) else {
            continue;
        };
        let hops = from_sink.get(node).copied().flatten();
        let degree = neighbours.get(node).map_or(0, Vec::len);
        let hint = match hops {
            Some(hops) => format!("node {id}: {hops} hops, {degree} good links"),
            None => format!("node {id}: out of the sink's reach, {degree} good links"),
        };
        let (fill, ink) = match hops {
            None => ("#fff", FAINT),
            Some(hops) => {
                let fill = BY_HOPS
                    .get(hops.min(BY_HOPS.len() - 1))
                    .copied()
                    .unwrap_or(INK);
                (fill, if hops < 3 { "#fff" } else { INK })
            }
        };
        let edge = if hops.is_none() {
            format!("stroke=\"{FAINT}\" stroke-dasharray=\"2 2\"")
        } else {
            "stroke=\"#fff\" stroke-width=\"1\"".to_owned()
        };
        if node == sink {
            let ring = format!("fill=\"none\" stroke=\"{SINK}\" stroke-width=\"2\"");
            svg.circle(*at, radius + 4.0, &ring, None);
        }
        svg.circle(*at, radius, &format!("fill=\"{fill}\" {edge}"), Some(&hint));
        if !small {
            let size = if id.get() > 999 { 7.0 } else { 9.0 };
            svg.text(
                (at.0, at.1 + 3.2),
                Anchor::Middle,
                size,
                ink,
                &id.to_string(),
            );
        }
    }
    if let (true, Some((at, _))) = (small, ground.places.get(sink)) {
        let bold = format!(
            "fill=\"{SINK}\" font-weight=\"600\" stroke=\"#fff\" stroke-width=\"3\" paint-order=\"stroke\""
        );
        let name = format!("sink {}", testbed.sink);
        svg.styled_text((at.0 + 13.0, at.1 - 8.0), Anchor::Start, 12.0, &bold, &name);
    }
}

fn small_plot(
    svg: &mut Svg,
    at: (f64, f64),
    width: f64,
    title: &str,
    x_label: &str,
    counts: &[usize],
) {
    let points = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(x, count)| Point::new(x as f64, *count as f64));
    let mut chart = Chart::new(title, x_label, "nodes").with("", Mark::Bars, points);
    (chart.width, chart.height) = (width as u32, PLOT_HEIGHT as u32);
    svg.open(&format!("transform=\"translate({} {})\"", at.0, at.1));
    svg.raw(chart.to_svg().trim_end());
    svg.close();
}
