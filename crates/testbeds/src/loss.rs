//! Losses that a person injects on links, to see what protocols make of them.
//!
//! A share of what one node sends is erased at another's receiver, symbol by symbol, whatever the
//! protocol. A link without a receiver cannot lose anything. Tests: `site_tests.rs`.

use std::fmt;
use std::str::FromStr;
use thalweg_units::NodeId;

/// Loss injected on a link: what one node sends is lost at another, whatever the protocol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loss {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// Share of full data frames that is lost, 0 to 0.99; of shorter frames less, as symbols are hit.
    pub share: f64,
}

impl fmt::Display for Loss {
    /// As [`FromStr`] takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}:{}", self.from, self.to, self.share)
    }
}

impl FromStr for Loss {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?}: expected FROM-TO:SHARE with a share from 0 to 0.99, as 3-4:0.2");
        let (link, share) = text.split_once(':').ok_or_else(wrong)?;
        let (from, to) = link.split_once('-').ok_or_else(wrong)?;
        let node = |id: &str| id.trim().parse().ok().and_then(|id| NodeId::new(id).ok());
        let share: f64 = share.trim().parse().map_err(|_| wrong())?;
        match (node(from), node(to)) {
            (Some(from), Some(to)) if from != to && (0.0..=0.99).contains(&share) => {
                Ok(Self { from, to, share })
            }
            _ => Err(wrong()),
        }
    }
}

/// Losses on links of a site.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Losses {
    /// On which links.
    pub links: Vec<Loss>,
    /// Of frames of so many bytes (FCS included) the shares are.
    pub psdu_bytes: usize,
}
