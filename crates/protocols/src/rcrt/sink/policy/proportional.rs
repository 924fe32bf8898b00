use super::{Claim, Policy};

/// Everybody gets the same share of its demand, at most all of it (section 3.6).
#[derive(Debug, Clone, Copy, Default)]
pub struct DemandProportional;

impl Policy for DemandProportional {
    fn limit(&self, claims: &[Claim]) -> Option<f64> {
        Some(claims.iter().map(|c| c.demand).sum())
    }
    fn allocate(&self, total: f64, claims: &[Claim], rates: &mut [f64]) {
        let demands: f64 = claims.iter().map(|c| c.demand).sum();
        let share = (total / demands).min(1.0);
        for (rate, claim) in rates.iter_mut().zip(claims) {
            *rate = share * claim.demand;
        }
    }
}
