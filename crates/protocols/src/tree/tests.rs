//! Link estimates from gaps or LQI, costs, choice of parents, several sinks, no loops where none may be.

extern crate std;
use super::*;
use std::vec::Vec;
use thalweg_wire::tree::{Direction, LqiRoute, Repr};

fn id(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}
const INTERVAL: Duration = Duration::from_secs(10);
fn router(n: u16, role: Role) -> Router {
    let routing = Routing::Etx {
        interval: INTERVAL,
        frame_bytes: 60,
    };
    Router::new(id(n), role, routing, Instant::ZERO, u64::from(n))
}
fn etx(router: &Router) -> &Etx {
    let Finding::Etx(etx) = &router.finding else {
        panic!("another tree");
    };
    etx
}

/// A network of routers whose beacons arrive as `link` says (sender, receiver, round).
struct Net {
    routers: Vec<Router>,
    round: u32,
}

impl Net {
    fn new(roles: &[Role]) -> Self {
        let routers = (1..).zip(roles).map(|(n, role)| router(n, *role)).collect();
        Self { routers, round: 0 }
    }
    fn run(&mut self, rounds: u32, link: impl Fn(usize, usize, u32) -> bool) {
        for _ in 0..rounds {
            self.round += 1;
            for n in 0..self.routers.len() {
                let now = Instant::ZERO + INTERVAL * u64::from(self.round);
                let now = now + Duration::from_millis(n as u64);
                let beacon = self.routers[n].build_beacon(now, self.round as u8);
                let beacon = beacon.unwrap();
                let Ok(Repr::Beacon(beacon)) = Repr::parse(&beacon) else {
                    panic!("no beacon");
                };
                for m in (0..self.routers.len()).filter(|m| *m != n) {
                    if link(n, m, self.round) {
                        self.routers[m].heard(now, &beacon.link);
                        self.routers[m].beacon(now, &beacon);
                    }
                }
            }
        }
    }
    fn parents(&self) -> Vec<Option<u16>> {
        let parent = |r: &Router| r.parent().map(NodeId::get);
        self.routers.iter().map(parent).collect()
    }
    fn has_loop(&self) -> bool {
        (0..self.routers.len()).any(|start| {
            let mut at = start;
            for _ in 0..self.routers.len() {
                match self.routers[at].parent() {
                    Some(parent) => at = usize::from(parent.get()) - 1,
                    None => return false,
                }
            }
            true
        })
    }
}

#[test]
fn a_line_becomes_a_tree_and_a_bad_short_cut_is_not_taken() {
    let mut net = Net::new(&[Role::Sink, Role::Router, Role::Router]);
    // The direct link from 3 to 1 loses three of four frames: ETX 16 against 2.
    net.run(40, |a, b, round| a.abs_diff(b) == 1 || round % 4 == 0);
    assert_eq!(net.parents(), [None, Some(1), Some(2)]);
    let route = etx(&net.routers[2]).chosen.unwrap();
    assert_eq!((route.sink, route.cost / COST_UNIT), (id(1), 2));
    let quality = etx(&net.routers[2])
        .links
        .all()
        .iter()
        .find(|n| n.id == id(1));
    assert!((40..90).contains(&quality.unwrap().received()));
}

#[test]
fn one_direction_alone_is_no_link() {
    let mut net = Net::new(&[Role::Sink, Role::Router]);
    net.run(30, |a, _, _| a == 0);
    assert_eq!(net.parents(), [None, None]);
}

#[test]
fn leaves_are_no_parents_and_the_nearer_of_two_sinks_is_followed() {
    let mut net = Net::new(&[Role::Sink, Role::Leaf, Role::Router, Role::Sink]);
    net.run(30, |a, b, _| a.abs_diff(b) == 1);
    assert_eq!(net.parents(), [None, Some(1), Some(4), None]);
    assert!(net.routers[2].is_sink(id(4)) && !net.routers[2].is_sink(id(1)));
}

#[test]
fn pinned_routes_stay() {
    let mut net = Net::new(&[Role::Sink, Role::Router]);
    net.run(20, |_, _, _| true);
    net.routers[1].pin();
    net.run(30, |_, _, _| false);
    assert_eq!(net.parents(), [None, Some(1)]);
}

#[test]
fn nodes_follow_a_restarted_sink_at_once() {
    let mut net = Net::new(&[Role::Sink, Role::Router, Role::Router]);
    let line = |a: usize, b: usize, _| a.abs_diff(b) == 1;
    net.run(200, line);
    net.routers[0] = router(1, Role::Sink);
    net.run(3, line);
    // The links to it are judged again: eight rounds more.
    net.run(8, line);
    assert_eq!(net.parents(), [None, Some(1), Some(2)]);
    let newest = |r: &Router| etx(r).sink_record(id(1)).map(|record| record.newest);
    assert!(newest(&net.routers[2]).is_some_and(|newest| newest > 205));
}

#[test]
fn no_loop_forms_when_the_only_way_out_breaks_and_the_way_back_is_found() {
    let mut net = Net::new(&[Role::Sink, Role::Router, Role::Router, Role::Router]);
    net.run(30, |_, _, _| true);
    for _ in 0..40 {
        net.run(1, |a, b, _| a != 0 && b != 0);
        assert!(!net.has_loop(), "{:?}", net.parents());
    }
    net.run(30, |a, b, _| a.abs_diff(b) == 1);
    assert_eq!(net.parents(), [None, Some(1), Some(2), Some(3)]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]
    #[test]
    fn no_loop_forms_in_random_networks_that_change(seed in 0u64..1_000_000) {
        let mut rng = Rng::new(seed);
        let mut roles = [Role::Router; 12];
        roles[0] = Role::Sink;
        let mut net = Net::new(&roles);
        for _ in 0..3 {
            let quality: Vec<u32> = (0..144).map(|_| rng.below(100)).collect();
            let salt = rng.bits();
            for _ in 0..20 {
                net.run(1, |a, b, round| {
                    let q = quality[a.min(b) * 12 + a.max(b)].saturating_sub(30);
                    Rng::new(salt ^ ((a * 12 + b) as u64) << 32 ^ u64::from(round)).below(100) < q
                });
                proptest::prop_assert!(!net.has_loop(), "seed {seed}: {:?}", net.parents());
            }
        }
    }
}

/// Node 2 in a tree of MultiHopLQI.
fn by_lqi() -> Router {
    let routing = Routing::Lqi { interval: INTERVAL };
    Router::new(id(2), Role::Router, routing, Instant::ZERO, 7)
}
/// A beacon of `from` comes in with `lqi`; `route`: cost, hops, next hop.
fn hears(router: &mut Router, s: u64, from: u16, lqi: u8, route: Option<(u16, u8, u16)>) {
    let link = Header {
        sequence: 0,
        to: None,
        from: id(from),
    };
    let route = route.map(|(cost, hops, parent)| LqiRoute {
        cost,
        hops,
        parent: id(parent),
    });
    let stamp = [0];
    let now = Instant::ZERO + Duration::from_secs(s);
    router.lqi_beacon(now, &LqiBeacon { link, stamp, route }, lqi);
}
/// What it advertises at that time.
fn advertised(router: &mut Router, s: u64) -> Option<(u16, u8, u16)> {
    let now = Instant::ZERO + Duration::from_secs(s);
    let frame = router.build_beacon(now, 1).unwrap();
    let Ok(Repr::LqiBeacon(beacon)) = Repr::parse(&frame) else {
        panic!("no beacon");
    };
    let route = beacon.route?;
    Some((route.cost, route.hops, route.parent.get()))
}

#[test]
fn the_cost_of_a_link_is_that_of_multi_hop_lqi() {
    let cost = |lqi| {
        let mut router = by_lqi();
        hears(&mut router, 0, 1, lqi, Some((0, 0, 1)));
        advertised(&mut router, 0).unwrap().0
    };
    let costs = [255, 110, 106, 100, 90, 50, 0].map(cost);
    assert_eq!(costs, [125, 125, 216, 420, 1000, 8000, 8000]);
}

#[test]
fn the_last_beacon_alone_counts_and_a_quarter_less_is_followed() {
    let mut router = by_lqi();
    hears(&mut router, 1, 3, 90, Some((3_000, 2, 4)));
    assert_eq!(advertised(&mut router, 1), Some((4_000, 3, 3)));
    // Three quarters of its cost is not enough, a little less is.
    hears(&mut router, 2, 5, 90, Some((2_000, 0, 5)));
    assert_eq!(router.parent(), Some(id(3)));
    hears(&mut router, 2, 5, 90, Some((1_999, 0, 5)));
    assert_eq!(router.poll_change(), Some(Some(id(5))));
    assert_eq!(router.poll_change(), None);
    assert!(router.is_sink(id(5)));
    // A bad beacon of the parent, and the other is cheaper.
    hears(&mut router, 3, 5, 50, Some((1_999, 0, 5)));
    assert_eq!(advertised(&mut router, 3), Some((9_999, 1, 5)));
    hears(&mut router, 4, 3, 90, Some((3_000, 2, 4)));
    assert_eq!(router.parent(), Some(id(3)));
    // No sum runs over.
    hears(&mut router, 4, 3, 50, Some((65_000, 254, 4)));
    hears(&mut router, 4, 3, 50, Some((65_000, 255, 4)));
    assert_eq!(advertised(&mut router, 4), Some((u16::MAX - 1, 255, 3)));
}

#[test]
fn a_parent_goes_if_it_is_silent_names_its_child_or_has_no_route() {
    let follow = || {
        let mut router = by_lqi();
        hears(&mut router, 0, 3, 110, Some((125, 1, 1)));
        assert_eq!(router.parent(), Some(id(3)));
        router
    };
    let mut router = follow();
    assert!(advertised(&mut router, 80).is_some());
    assert_eq!(advertised(&mut router, 81), None);
    assert_eq!(
        router.poll_timeout(),
        Some(Instant::ZERO + Duration::from_secs(91))
    );
    for route in [Some((250, 2, 2)), None] {
        let mut router = follow();
        hears(&mut router, 1, 4, 110, route);
        assert_eq!(router.parent(), Some(id(3)));
        hears(&mut router, 1, 3, 110, route);
        assert_eq!(router.parent(), None);
    }
    let mut router = follow();
    router.went_round();
    assert_eq!(router.parent(), None);
    hears(&mut router, 2, 4, 50, Some((9_000, 4, 1)));
    router.pin();
    router.went_round();
    assert_eq!(router.parent(), Some(id(4)));
}

fn routes<const DOWN: usize>() -> Routes<DOWN> {
    let fixed = Routing::Fixed(Some(id(9)));
    Routes::new(Router::new(id(1), Role::Router, fixed, Instant::ZERO, 1))
}

#[test]
fn reverse_routes_are_the_latest_bounded_and_forgotten() {
    let mut routes = routes::<3>();
    let at = |s: u32| Instant::ZERO + Duration::from_secs(u64::from(s));
    let hop = |routes: &Routes<3>, s, n| {
        let hop = routes.next_hop(at(s), Direction::Down { to: id(n) });
        hop.unwrap().get()
    };
    for origin in 1..=4 {
        routes.learn(at(u32::from(origin)), id(origin), id(10 + origin));
        routes.learn(at(u32::from(origin)), id(2), id(20));
    }
    // Of four, the one that was used the longest time ago is gone; the latest previous hop counts.
    // Without a route, a packet goes straight to its destination.
    assert_eq!([1, 2, 3, 4].map(|n| hop(&routes, 5, n)), [1, 20, 13, 14]);
    assert_eq!(hop(&routes, 3 + FORGOTTEN_AFTER_S - 1, 3), 13);
    assert_eq!(hop(&routes, 3 + FORGOTTEN_AFTER_S, 3), 3);
    assert_eq!(routes.next_hop(at(5), Direction::Up), Some(id(9)));
}

#[test]
fn without_a_table_nothing_is_learnt() {
    let mut routes = routes::<0>();
    routes.learn(Instant::ZERO, id(5), id(6));
    let down = routes.next_hop(Instant::ZERO, Direction::Down { to: id(5) });
    assert_eq!(down, Some(id(5)));
}
