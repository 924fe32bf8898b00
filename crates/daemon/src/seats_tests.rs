use super::*;

fn v4(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

#[test]
fn one_address_takes_its_share_and_no_more() {
    let seats = Seats::default();
    let mine: Vec<Seat> = (0..EACH).map_while(|_| seats.take(v4(1))).collect();
    assert_eq!(mine.len(), EACH);
    assert!(seats.take(v4(1)).is_none());
    let other = seats.take(v4(2));
    assert!(other.is_some());
    drop(mine);
    assert!(seats.take(v4(1)).is_some());
    drop(other);
    assert_eq!(seats.taken().all, 0);
    assert!(seats.taken().by.is_empty());
}

#[test]
fn some_seats_are_left_to_this_machine() {
    let seats = Seats::default();
    let all: Vec<Seat> = (0..=255).filter_map(|n| seats.take(v4(n))).collect();
    assert_eq!(all.len(), ALL - KEPT);
    let own = IpAddr::from([127, 0, 0, 1]);
    let kept: Vec<Seat> = (0..ALL).map_while(|_| seats.take(own)).collect();
    assert_eq!(kept.len(), KEPT);
}

#[test]
fn addresses_of_one_ipv6_network_are_one() {
    let seats = Seats::default();
    let of = |n: u16| IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, n]);
    let taken: Vec<Seat> = (1..=300).filter_map(|n| seats.take(of(n))).collect();
    assert_eq!(taken.len(), EACH);
    // An IPv4 address is the same by whichever socket it comes.
    let mapped = IpAddr::from([0, 0, 0, 0, 0, 0xffff, 0xc000, 0x0201]);
    assert_eq!(house(mapped), v4(1));
}
