//! Losses that a person injects on links of a testbed, to see what protocols make of them.
//!
//! A share of what one node sends is erased at another's receiver, symbol by symbol, whatever the
//! protocol. Surveys and planners do not know of it where a network is surveyed apart from its
//! transfers ([`Testbed::undisturbed`]); a link that nobody hears cannot lose anything. Tests: at the end.

use super::Testbed;
use std::str::FromStr;
use thalweg_medium::{EarId, Environment};
use thalweg_units::{Channel, NodeId};

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

/// Why a loss cannot be injected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LossError {
    /// A node that the testbed does not have.
    #[error("{testbed}: loss on {from}-{to}: there is no node {node}")]
    UnknownNode {
        /// The testbed.
        testbed: String,
        /// The sender named.
        from: NodeId,
        /// The receiver named.
        to: NodeId,
        /// The one that is not there.
        node: NodeId,
    },
    /// The receiver hears nothing of the sender, on no channel.
    #[error("{testbed}: loss on {from}-{to}: node {to} does not hear node {from}; there is nothing to lose")]
    Unheard {
        /// The testbed.
        testbed: String,
        /// The sender named.
        from: NodeId,
        /// The receiver named.
        to: NodeId,
    },
}

/// The losses of a testbed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Losses {
    /// On which links.
    pub links: Vec<Loss>,
    /// Of frames of so many bytes (FCS included) the shares are.
    pub psdu_bytes: usize,
}

impl Testbed {
    /// The same with `losses`, whose shares are those of frames of `psdu_bytes`, in place of those that it
    /// had.
    ///
    /// # Errors
    /// [`LossError::UnknownNode`].
    pub fn with_losses(mut self, losses: &[Loss], psdu_bytes: usize) -> Result<Self, LossError> {
        for loss in losses {
            self.ends(loss)?;
        }
        self.losses = Losses {
            links: losses.to_vec(),
            psdu_bytes,
        };
        Ok(self)
    }

    /// The same without losses: what a survey before them would see.
    #[must_use]
    pub fn undisturbed(&self) -> Self {
        Self {
            losses: Losses::default(),
            ..self.clone()
        }
    }

    /// `environment`, a site of this testbed with a radio or more at each node, with the testbed's losses.
    ///
    /// # Errors
    /// [`LossError::Unheard`] where a link is not there in any band.
    pub fn inject(&self, environment: Environment) -> Result<Environment, LossError> {
        let (mut environment, psdu) = (environment, self.losses.psdu_bytes);
        let bands = environment.ears.len() / self.len().max(1);
        for loss in &self.losses.links {
            let (from, to) = self.ends(loss)?;
            let mut is_heard = false;
            for band in 0..bands {
                let ear = |n: usize| EarId((n + band * self.len()) as u32);
                let (from, to) = (ear(from), ear(to));
                let heard = |channel| environment.links.between(from, to, channel).is_some();
                is_heard |= Channel::all().any(heard);
                environment = environment.with_loss(from, to, loss.share, psdu);
            }
            if !is_heard {
                return Err(LossError::Unheard {
                    testbed: self.name.clone(),
                    from: loss.from,
                    to: loss.to,
                });
            }
        }
        Ok(environment)
    }

    fn ends(&self, loss: &Loss) -> Result<(usize, usize), LossError> {
        let index = |node: NodeId| {
            let known = self.index_of(node);
            known.ok_or_else(|| LossError::UnknownNode {
                testbed: self.name.clone(),
                from: loss.from,
                to: loss.to,
                node,
            })
        };
        Ok((index(loss.from)?, index(loss.to)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use thalweg_units::Dbm;

    fn loss(text: &str) -> Loss {
        text.parse().unwrap()
    }

    #[test]
    fn a_share_of_full_frames_is_lost_one_way() {
        let testbed = Testbed::load("pair").unwrap();
        let lossy = testbed
            .clone()
            .with_losses(&[loss("2-1:0.3")], 127)
            .unwrap();
        let site = lossy.inject(testbed.realise(1)).unwrap();
        let prr =
            |from, to, bytes| site.prr(EarId(from), EarId(to), Channel::LAST, bytes, Dbm(0.0));
        assert!((prr(1, 0, 127) - 0.7).abs() < 0.01, "{}", prr(1, 0, 127));
        assert!(prr(1, 0, 20) > 0.9 && prr(0, 1, 127) > 0.99);
        assert!(lossy.undisturbed().losses.links.is_empty());
    }

    #[test]
    fn what_is_not_there_cannot_be_lost() {
        let testbed = Testbed::load("line5").unwrap();
        let stranger = testbed.with_losses(&[loss("1-77:0.5")], 127);
        let line = stranger.unwrap_err().to_string();
        assert!(
            line.contains("no node 77") && line.contains("1-77"),
            "{line}"
        );
        let csv = "src,dst,channel,prr\n1,2,26,0.9\n2,3,26,0.9\n";
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("chain.csv");
        std::fs::write(&file, csv).unwrap();
        let chain = Testbed::load(&file).unwrap();
        let far = chain.with_losses(&[loss("1-3:0.5")], 127).unwrap();
        let line = far.inject(far.realise(1)).unwrap_err().to_string();
        assert!(line.contains("node 3 does not hear node 1"), "{line}");
    }
}
