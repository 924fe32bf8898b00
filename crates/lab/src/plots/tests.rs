use super::*;
use thalweg_draw::map::{Caption, Places, Shape};
use thalweg_draw::style::LINK;
use thalweg_medium::random::stream;
use thalweg_planner::LinkQualities;
use thalweg_testbeds::{Site, Testbed};
use thalweg_units::{Channel, Dbm};

#[test]
fn a_site_shows_its_floors_its_links_and_its_sink() {
    let map = site(&Site::new(Testbed::load("floor21").unwrap(), 1));
    assert!(matches!(&map.places, Places::Known(places) if places.len() == 21));
    assert_eq!(map.nodes.iter().filter(|n| n.ring.is_some()).count(), 1);
    // Weak links lie below strong ones.
    assert!(map.links.windows(2).all(|w| w[0].opacity <= w[1].opacity));
    assert_eq!(map.nodes[0].hint.split(':').next(), Some("node 1"));
    // Many nodes are drawn small; the sink's name stands beside it.
    let map = site(&Site::new(Testbed::load("indriya").unwrap(), 1));
    let named = map.nodes.iter().filter(|n| n.caption == Caption::Beside);
    let names: Vec<&str> = named.map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["sink 1"]);
    let svg = map.to_svg();
    assert!(svg.contains(">floor 2</text>") && svg.contains(">link between floors</text>"));
    let between = map.links.iter().position(|l| l.colour == LINK).unwrap();
    assert!(map.links[between..].iter().all(|l| l.colour == LINK));
}

/// Two disjoint paths of three hops.
fn links() -> LinkQualities {
    let mut links = LinkQualities::new(7);
    for (a, b) in [(0, 1), (1, 2), (2, 5), (0, 3), (3, 4), (4, 5)] {
        for channel in Channel::all() {
            for (from, to) in [(a, b), (b, a)] {
                links
                    .record_prr(from, to, channel, 1.0, Some(Dbm(-60.0)))
                    .unwrap();
            }
        }
    }
    links
}

#[test]
fn a_plan_shows_who_takes_part_and_every_hop_of_every_path() {
    let mut links = links();
    let mut request = thalweg_planner::RouteRequest::new(0, 5);
    request.min_paths = 2;
    let made = thalweg_planner::plan(&links, &request, &mut stream(1, "plan", &[])).unwrap();
    let map = plan(&made, &links);
    assert!(matches!(&map.places, Places::Columns(columns) if columns.len() == made.hops + 1));
    assert_eq!(map.links.len(), made.hops * made.paths.len());
    for (n, node) in map.nodes.iter().enumerate() {
        let takes_part = made.active_nodes().iter().any(|(node, _)| *node == n);
        assert_eq!(node.caption == Caption::Inside, takes_part, "{n}");
    }
    assert!(map.nodes[0].ring.is_some() && map.nodes[5].ring.is_some());
    let squares = map
        .nodes
        .iter()
        .filter(|n| n.shape == Shape::Square)
        .count();
    assert_eq!(squares, 2, "one of the two paths is for even packets");
    let svg = map.to_svg();
    assert_eq!(svg.matches("<title>path ").count(), map.links.len());
    assert!(svg.contains(">Node 0 to node 5: 3 hops, 2 node-distinct paths</text>"));
    // Where places are known, idle nodes are shown too.
    let place = |n: usize| thalweg_planner::Place {
        x_m: n as f64,
        y_m: 0.0,
        z_m: 0.0,
        floor: 0,
    };
    links.set_places((0..7).map(place).collect()).unwrap();
    let map = plan(&made, &links);
    assert!(matches!(&map.places, Places::Known(places) if places.len() == 7));
}

#[test]
fn traffic_is_as_wide_as_it_is_much() {
    let spot = |id: &str, x: f64, is_sink| Spot {
        id: id.into(),
        at: (x, 0.0),
        is_sink,
    };
    let spots = [
        spot("1", 0.0, true),
        spot("<2", 5.0, false),
        spot("3", 9.0, false),
    ];
    let of = |from, packets| (from, 0, packets);
    let map = traffic("A & B", &spots, &[of(1, 7.0), of(2, 3.5)]);
    assert_eq!((map.links[0].width, map.links[1].width), (14.0, 7.0));
    let svg = map.to_svg();
    assert!(svg.contains("A &amp; B") && svg.contains("&lt;2") && svg.contains("widest link: 7"));
    assert!(traffic("", &[], &[])
        .to_svg()
        .trim_end()
        .ends_with("</svg>"));
}

#[test]
fn a_plan_hop_by_hop_has_one_kind_of_packets_and_short_headings() {
    let mut links = LinkQualities::new(13);
    for (a, b) in (0..12).map(|node| (node, node + 1)) {
        for channel in Channel::all() {
            links.record_prr(a, b, channel, 0.8, None).unwrap();
            links.record_prr(b, a, channel, 0.8, None).unwrap();
        }
    }
    let request = thalweg_planner::RouteRequest {
        style: thalweg_planner::Style::Hops,
        ..thalweg_planner::RouteRequest::new(0, 12)
    };
    let made = thalweg_planner::plan(&links, &request, &mut stream(1, "plan", &[])).unwrap();
    let svg = plan(&made, &links).to_svg();
    assert!(svg.contains("Predicted, hop by hop: ") && svg.contains(">12</text>"));
    for absent in ["PIP", "even packets", "stage 0 "] {
        assert!(!svg.contains(absent), "{absent}");
    }
}
