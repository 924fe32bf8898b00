//! A site: its links, how far its nodes are from the sink, and how degrees and hops are distributed.

use thalweg_draw::chart::{Chart, Mark, Point};
use thalweg_draw::map::{Caption, Key, Link, Map, Node, Place, Places, Shape, Stroke, WIDTH};
use thalweg_draw::style::{BY_HOPS, FAINT, LINK, OTHER_LINK, PAPER, SINK};
use thalweg_testbeds::{hops, Ratios, Site, SummaryOptions};
use thalweg_units::Channel;

/// More nodes than this are drawn small, without their names.
const MANY: usize = 60;

/// A site before its losses: links shaded by reception ratio, nodes by hops from the sink, and how
/// degrees and hops are distributed. Links are those of a full-length frame at 0 dBm on the last channel.
pub fn site(site: &Site) -> Map {
    let (testbed, calm) = (&site.testbed, site.undisturbed().environment);
    let options = SummaryOptions::default();
    let channel = testbed.channels.iter().next_back().unwrap_or(Channel::LAST);
    let ratios = Ratios::of(&calm, channel, &options);
    let sink = testbed.sink_index();
    let neighbours = ratios.good_neighbours(options.good_prr);
    let from_sink = hops(&neighbours, sink);
    let numbers = ratios.summary(channel, sink, &options);
    let reach = match numbers.unreachable {
        0 => "all reach the sink".to_owned(),
        n => format!("{n} cannot reach the sink"),
    };
    let place = |n: usize| {
        let placement = calm.ears.get(n)?.placement?;
        Some(Place {
            x_m: placement.position.x_m,
            y_m: placement.position.y_m,
            floor: placement.floor,
        })
    };
    let places: Option<Vec<Place>> = (0..testbed.len()).map(place).collect();
    let floors: Vec<u16> = places.iter().flatten().map(|p| p.floor).collect();
    let node = |(n, hops): (usize, &Option<usize>)| {
        let degree = neighbours.get(n).map_or(0, Vec::len);
        node(site, n, *hops, degree)
    };
    let (heard, mean) = (options.neighbour_prr, numbers.degree.mean);
    let degrees = format!("neighbours (ratio at least {heard}), mean {mean:.1}");
    let good = options.good_prr;
    let lengths = format!("hops to the sink over links good both ways (at least {good})");
    let mut legend = legend(&floors);
    if places.is_none() {
        legend.push(Key::remark("places unknown: drawn by links"));
    }
    Map {
        title: testbed.name.clone(),
        subtitle: format!(
            "{} nodes, sink {}; channel {} at 0 dBm: {} good links, {:.1} neighbours a node, hops up to {}, {reach}",
            testbed.len(),
            testbed.named(testbed.sink),
            numbers.channel,
            numbers.good_links,
            numbers.degree.mean,
            numbers.hops.max,
        ),
        width: WIDTH,
        places: places.map_or_else(|| by_links(&ratios, &from_sink), Places::Known),
        nodes: from_sink.iter().enumerate().map(node).collect(),
        links: links(&ratios, &floors),
        legend,
        charts: vec![
            histogram("Degree", &degrees, &numbers.degree_histogram),
            histogram("Hops", &lengths, &numbers.hops_histogram),
        ],
    }
}

/// Weak links below strong ones, those between floors below the others.
fn links(ratios: &Ratios, floors: &[u16]) -> Vec<Link> {
    let is_level = |a: usize, b: usize| floors.get(a) == floors.get(b);
    let mut pairs: Vec<_> = (ratios.pairs())
        .filter(|(_, _, prr)| *prr >= 0.1)
        .map(|(a, b, prr)| (is_level(a, b), prr, a, b))
        .collect();
    pairs.sort_by(|a, b| {
        let by_ratio = a.1.total_cmp(&b.1);
        a.0.cmp(&b.0)
            .then(by_ratio)
            .then((a.2, a.3).cmp(&(b.2, b.3)))
    });
    // Many links need less ink each.
    let ink = (30.0 / (pairs.len() as f64).sqrt()).clamp(0.12, 1.0);
    let link = |(is_level, prr, a, b)| Link {
        width: 0.5 + 0.7 * prr,
        opacity: ink * (0.1 + 0.6 * prr * prr),
        ..Link::new(a, b, if is_level { LINK } else { OTHER_LINK })
    };
    pairs.into_iter().map(link).collect()
}

/// Node `n`, so many hops from the sink and with so many good links.
fn node(site: &Site, n: usize, hops: Option<usize>, degree: usize) -> Node {
    let (testbed, is_sink) = (&site.testbed, n == site.testbed.sink_index());
    let name = testbed.id_of(n).map_or(String::new(), |id| id.to_string());
    let named = testbed
        .id_of(n)
        .map_or(String::new(), |id| testbed.named(id));
    let hint = match hops {
        Some(hops) => format!("node {named}: {hops} hops, {degree} good links"),
        None => format!("node {named}: out of the sink's reach, {degree} good links"),
    };
    let node = match hops {
        Some(hops) => Node::new(name, BY_HOPS[hops.min(BY_HOPS.len() - 1)]),
        None => Node {
            edge: FAINT,
            stroke: Stroke::Dashed,
            ..Node::new(name, PAPER)
        },
    };
    let node = Node {
        hint,
        ring: is_sink.then_some(SINK),
        ..node
    };
    match testbed.len() > MANY {
        false => node,
        true => Node {
            name: format!("sink {}", testbed.sink),
            caption: match is_sink {
                true => Caption::Beside,
                false => Caption::Nowhere,
            },
            radius: 5.0,
            ..node
        },
    }
}

fn legend(floors: &[u16]) -> Vec<Key> {
    let line = |colour, name: &str| Key::line(colour, 2.0, Stroke::Solid, name);
    let mut legend = vec![line(LINK, "link")];
    if floors.windows(2).any(|pair| pair[0] != pair[1]) {
        legend = vec![
            line(LINK, "link on a floor"),
            line(OTHER_LINK, "link between floors"),
        ];
    }
    legend.push(Key::remark("(darker: higher ratio)"));
    legend.push(Key::marks(Shape::Circle, &BY_HOPS, "0 to 6 hops, or more"));
    legend
}

/// Places by all links that now and then carry a frame, which hold the picture together.
fn by_links(ratios: &Ratios, from_sink: &[Option<usize>]) -> Places {
    let mut neighbours = vec![Vec::new(); ratios.nodes()];
    for (a, b, _) in ratios.pairs() {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut order: Vec<usize> = (0..neighbours.len()).collect();
    order.sort_by_key(|n| from_sink.get(*n).copied().flatten().unwrap_or(usize::MAX));
    Places::ByLinks { neighbours, order }
}

fn histogram(title: &str, x_label: &str, counts: &[usize]) -> Chart {
    let counts = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let points = counts.map(|(x, count)| Point::new(x as f64, *count as f64));
    Chart::new(title, x_label, "nodes").with("", Mark::Bars, points)
}
