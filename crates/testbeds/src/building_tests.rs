//! Buildings of testbeds.

use super::*;

const FLOOR: Building = Building {
    floors: 1,
    length_m: 50.0,
    width_m: 30.0,
    floor_height_m: 3.5,
    crowd: Some(Crowd {
        nodes: 15,
        length_m: 16.0,
        width_m: 15.0,
    }),
    numbering: Numbering::Drawn,
};

#[test]
fn a_corner_is_crowded_and_a_low_number_is_anywhere_else() {
    let corner = FLOOR.crowd.unwrap();
    let (mut crowded, mut far) = (0, 0);
    for seed in 1..=20 {
        let places = FLOOR.places(55, seed);
        assert_eq!(places.len(), 55);
        crowded += places.iter().filter(|p| corner.holds(p)).count();
        assert!(!corner.holds(&places[5]), "seed {seed}");
        far += usize::from(places[5].position.x_m > 25.0);
    }
    // 15 and a sixth of the other 40, on each floor.
    assert!((400..=460).contains(&crowded), "{crowded}");
    assert!((6..=18).contains(&far), "{far}");
    assert_eq!(FLOOR.places(55, 3), FLOOR.places(55, 3));
}

#[test]
fn without_a_crowd_nodes_are_numbered_along_the_building() {
    let building = Building {
        crowd: None,
        numbering: Numbering::Along,
        ..FLOOR
    };
    let places = building.places(40, 1);
    let along = |w: &[Placement]| w[0].position.x_m <= w[1].position.x_m;
    assert!(places.windows(2).all(along));
}
