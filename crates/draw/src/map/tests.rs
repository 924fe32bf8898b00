use super::*;
use crate::style::{LINK, SINK};

fn place(x_m: f64, y_m: f64, floor: u16) -> Place {
    Place { x_m, y_m, floor }
}
fn map(places: Places, nodes: usize) -> Map {
    Map {
        title: "T".into(),
        subtitle: "<s>".into(),
        width: WIDTH,
        places,
        nodes: (0..nodes).map(|n| Node::new(n.to_string(), SINK)).collect(),
        links: (1..nodes).map(|n| Link::new(n - 1, n, LINK)).collect(),
        legend: Vec::new(),
        charts: Vec::new(),
    }
}
/// The numbers of an attribute, in the order of the picture.
fn numbers(svg: &str, attribute: &str) -> Vec<f64> {
    let parts = svg.split(attribute).skip(1);
    parts
        .filter_map(|s| s.split('"').next()?.parse().ok())
        .collect()
}

#[test]
fn floors_keep_their_metres_apart() {
    let places = [
        place(0.0, 0.0, 0),
        place(50.0, 0.0, 0),
        place(100.0, 4.0, 0),
        place(0.0, 2.0, 1),
    ];
    let svg = map(Places::Known(places.to_vec()), 4).to_svg();
    assert!(svg.contains(">floor 0</text>") && svg.contains(">floor 1</text>"));
    assert!(svg.contains("&lt;s&gt;") && svg.contains("m (across x"));
    let (xs, ys) = (numbers(&svg, "cx=\""), numbers(&svg, "cy=\""));
    assert_eq!(xs.len(), 4);
    assert!((xs[2] - xs[1] - (xs[1] - xs[0])).abs() < 0.2, "{xs:?}");
    assert!((xs[3] - xs[0]).abs() < 0.1);
    // Up is up, and the upper floor is on top.
    assert!(ys[2] < ys[0] && ys[3] < ys[2], "{ys:?}");
    // Square floors stand side by side.
    let square = [(0.0, 0.0, 0), (9.0, 9.0, 0), (0.0, 0.0, 1)];
    let places = square.map(|(x, y, floor)| place(x, y, floor));
    let svg = map(Places::Known(places.to_vec()), 3).to_svg();
    let (xs, ys) = (numbers(&svg, "cx=\""), numbers(&svg, "cy=\""));
    assert!(
        xs[2] > xs[1] && (ys[2] - ys[0]).abs() < 0.1,
        "{xs:?} {ys:?}"
    );
}

#[test]
fn names_stand_within_the_picture() {
    let places = [place(0.0, 0.0, 0), place(50.0, 4.0, 0)];
    let mut named = map(Places::Known(places.to_vec()), 2);
    for node in &mut named.nodes {
        node.caption = Caption::Small;
    }
    let svg = named.to_svg();
    let anchor_of = |name: &str| {
        let text = svg
            .split("<text")
            .find(|text| text.contains(&format!(">{name}<")));
        text.is_some_and(|text| text.contains("text-anchor=\"end\""))
    };
    assert_eq!([anchor_of("0"), anchor_of("1")], [false, true], "{svg}");
}

#[test]
fn unknown_places_are_drawn_all_the_same() {
    let columns = [("a".to_owned(), vec![0]), ("b".to_owned(), vec![1, 2])];
    let svg = map(Places::Columns(columns.to_vec()), 4).to_svg();
    let xs = numbers(&svg, "cx=\"");
    // The fourth node is in no column, nor is its link drawn.
    assert_eq!(xs.len(), 3);
    assert!(xs[0] < xs[1] && xs[1] == xs[2]);
    assert_eq!(svg.matches("<line").count(), 2);
    let neighbours = vec![vec![1], vec![0], vec![]];
    let order = vec![0, 1, 2];
    let svg = map(Places::ByLinks { neighbours, order }, 3).to_svg();
    assert_eq!(numbers(&svg, "cx=\"").len(), 3);
    for empty in [Places::Known(Vec::new()), Places::Columns(Vec::new())] {
        assert!(!map(empty, 0).to_svg().contains("NaN"));
    }
}

#[test]
fn large_nodes_lie_on_small_ones_and_links_below() {
    let mut map = map(
        Places::Known(vec![place(0.0, 0.0, 0), place(1.0, 0.0, 0)]),
        2,
    );
    map.nodes[0].ring = Some(SINK);
    map.nodes[1].radius = 3.0;
    map.nodes[1].caption = Caption::Nowhere;
    map.links[0].hint = Some("path 1".into());
    let key = Key::line(LINK, 2.0, Stroke::Solid, "a link");
    map.legend.push(key);
    let svg = map.to_svg();
    let at = |what: &str| svg.find(what).unwrap();
    assert!(at("<title>path 1</title>") < at("r=\"3\"") && at("r=\"3\"") < at("r=\"10\""));
    assert!(svg.contains(">a link</text>") && svg.contains(">0</text>"));
    assert!(!svg.contains(">1</text>"));
    assert_eq!(svg, map.to_svg());
}

#[test]
fn a_slim_map_has_its_floors_below_each_other_within_its_width() {
    let places = [(0.0, 0.0, 0), (9.0, 9.0, 0), (0.0, 0.0, 1)];
    let places = places.map(|(x, y, floor)| place(x, y, floor));
    let mut map = map(Places::Known(places.to_vec()), 3);
    map.width = 400.0;
    let svg = map.to_svg();
    assert!(svg.contains("viewBox=\"0 0 400 "), "{svg}");
    let (xs, ys) = (numbers(&svg, "cx=\""), numbers(&svg, "cy=\""));
    assert!(
        (xs[2] - xs[0]).abs() < 0.1 && ys[2] < ys[0],
        "{xs:?} {ys:?}"
    );
    assert!(xs.iter().all(|x| (0.0..400.0).contains(x)), "{xs:?}");
}
