//! Tests of `channel.rs`.

use super::*;

#[test]
fn only_eleven_to_twenty_six_exist() {
    for number in 0..=255u8 {
        assert_eq!(Channel::new(number).is_ok(), (11..=26).contains(&number));
    }
    assert_eq!("26".parse(), Channel::new(26));
    assert!("27".parse::<Channel>().is_err());
    assert_eq!(
        [Channel::FIRST, Channel::LAST].map(Channel::number),
        [11, 26]
    );
    // Motes hold many that may be none.
    assert_eq!(size_of::<Option<Channel>>(), 1);
    assert!("".parse::<Channel>().is_err());
}

#[test]
fn a_set_holds_what_was_put_in() {
    let set: ChannelSet = [15, 20, 25, 26]
        .into_iter()
        .flat_map(Channel::new)
        .collect();
    assert_eq!(set.len(), 4);
    assert!(set.iter().map(Channel::number).eq([15, 20, 25, 26]));
    assert!(!set.contains(Channel::FIRST));
}
