//! How objects travel: one file for each family, with its nodes, its terms and its jobs. Families of streams
//! share the job in [`stream`].

pub mod account;
pub mod burst;
pub mod fastforward;
pub mod log;
pub mod pipeline;
pub mod rcrt;
pub mod session;
pub mod stages;
pub mod stream;
pub mod terms;
pub mod ways;

#[cfg(test)]
mod tests {
    use thalweg_planner::rules;
    use thalweg_protocols::mote::rest;
    use thalweg_protocols::{sweep, thalweg};

    #[test]
    fn plans_count_with_the_protocols_rules() {
        assert_eq!(rules::LOOKED_AT, u32::from(thalweg::WORTH));
        assert_eq!(rules::LOOK, u32::from(thalweg::LOOK));
        assert_eq!(rules::LONG_LOOK, u32::from(thalweg::LONG_LOOK));
        assert_eq!(rules::TO_BEGIN_ANEW, thalweg::TO_BEGIN_ANEW);
        assert_eq!(u64::from(rules::REST), thalweg::REST);
        assert_eq!(rules::WHOLE, rest::WHOLE);
        assert_eq!(rules::SWEPT_BYTES, usize::from(sweep::BEACON_BYTES));
    }
}
