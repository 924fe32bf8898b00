//! Link quality indications (LQI) of Zigbee radios, which are levels on a scale of 0 to 255: Texas Instruments' stack,
//! which most coordinators run, has 0 at -87 dBm and 255 at -10 dBm, and is linear between
//! (`MAC_SPEC_ED_MAX`, `ED_RF_POWER_MIN_DBM` and `ED_RF_POWER_MAX_DBM` of Z-Stack 3). Tests: below.

/// The level of 0, and of 255.
const LEAST_DBM: f64 = -87.0;
const MOST_DBM: f64 = -10.0;

/// What errors expect.
pub(crate) const EXPECTED: &str = "a link quality indication, 0 to 255";

/// Whether it can be one.
pub(crate) fn is_one(lqi: f64) -> bool {
    (0.0..=255.0).contains(&lqi)
}

/// The level, dBm.
pub(crate) fn level_dbm(lqi: f64) -> f64 {
    LEAST_DBM + (MOST_DBM - LEAST_DBM) * lqi / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_those_of_the_stack() {
        assert_eq!((level_dbm(0.0), level_dbm(255.0)), (-87.0, -10.0));
        assert!(is_one(0.0) && is_one(255.0) && !is_one(256.0) && !is_one(f64::NAN));
    }
}
