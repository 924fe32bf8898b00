//! What must hold of what jobs bring, and at the end.

use super::Runner;
use crate::breach::Breach;
use crate::network::{id, CHANNELS};
use crate::script::Security;
use thalweg_host::collector::Report;
use thalweg_host::network::Network;
use thalweg_host::survey::SurveyOutcome;
use thalweg_host::transfer::rcrt::Gathered;
use thalweg_units::{Channel, NodeId, SimTime};

/// So many bytes in a row are no chance.
const SECRET: usize = 8;

impl Runner<'_> {
    /// What came whole is what its node has; whose it is.
    pub(super) fn check_gathered(&self, came: Vec<Gathered>) -> Result<Vec<u16>, Breach> {
        let mut whole = Vec::new();
        for one in came {
            let Ok(got) = one.object else {
                continue;
            };
            let index = usize::from(one.source.get()) - 1;
            let sent = self.objects.get(&index).map_or(&[][..], |object| object);
            if got != sent {
                return Err(Breach::Foreign {
                    source_node: one.source,
                    got: got.len(),
                    sent: sent.len(),
                });
            }
            whole.push(one.source.get());
        }
        Ok(whole)
    }

    /// Links lead between nodes that hear each other, and nodes without batteries tell of none.
    pub(super) fn check_survey(&self, surveyed: &SurveyOutcome) -> Result<(), Breach> {
        // A captured mote reports in the names of others.
        if self.script.security == Security::Captured {
            return Ok(());
        }
        if let Some((node, _)) = surveyed.batteries.first() {
            return Err(Breach::Battery { node: *node });
        }
        let hears = |a: u16, b: u16| {
            let mut links = self.script.links.iter();
            links.any(|link| (link.a, link.b) == (a, b) || (link.b, link.a) == (a, b))
        };
        for from in 1..=self.script.nodes {
            for to in 1..=self.script.nodes {
                let (f, t) = (usize::from(from) - 1, usize::from(to) - 1);
                let is_told = CHANNELS.into_iter().any(|channel| {
                    let channel = Channel::new(channel);
                    channel.is_ok_and(|channel| surveyed.links.prr(f, t, channel) > 0.0)
                });
                if is_told && !hears(from, to) {
                    return Err(Breach::Link { from, to });
                }
            }
        }
        Ok(())
    }
    /// What an outsider took in, with whatever keys, is not the plain object of a node that has keys.
    pub(super) fn check_secrets(&mut self) -> Result<(), Breach> {
        if self.script.security != Security::None {
            let stolen = self.field.stolen();
            let is_read = |object: &[u8]| {
                let pairs = stolen.chunks(SECRET).zip(object.chunks(SECRET));
                pairs
                    .filter(|(_, plain)| plain.len() == SECRET)
                    .any(|(got, plain)| got == plain)
            };
            if let Some((index, _)) = self.objects.iter().find(|(_, object)| is_read(object)) {
                let source_node = id(*index as u16 + 1);
                return Err(Breach::Secret { source_node });
            }
        }
        Ok(())
    }
    /// The times in all states are the time that passed.
    pub(super) fn check_meters(&self) -> Result<(), Breach> {
        let passed = self.field.now().since(SimTime::ZERO);
        for (n, node) in self.field.ids().iter().enumerate() {
            let metered = self.field.net.energy(n).elapsed();
            if metered != passed {
                let node = *node;
                return Err(Breach::Meter {
                    node,
                    metered,
                    passed,
                });
            }
        }
        Ok(())
    }
}

/// What was handed out is what its node sent, and the report says so.
pub(super) fn check_report(
    source_node: NodeId,
    sent: &[u8],
    report: &Report,
) -> Result<Result<(), String>, Breach> {
    let summary = &report.outcome.summary;
    let contradicts = |why: &str| {
        let why = why.to_owned();
        Err(Breach::Report { source_node, why })
    };
    match (&report.object, &summary.failure) {
        (Some(got), _) if got[..] != *sent => Err(Breach::Foreign {
            source_node,
            got: got.len(),
            sent: sent.len(),
        }),
        (Some(_), None) if summary.verified => Ok(Ok(())),
        (Some(_), _) => contradicts("the object came, and it says that it did not"),
        (None, _) if summary.verified => contradicts("no object came, and it says that one did"),
        (None, None) => contradicts("no object came, and it says no reason"),
        (None, Some(why)) => Ok(Err(why.clone())),
    }
}
