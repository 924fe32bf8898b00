//! What the destination learns of a transfer, in whichever way it learns, and what it says of it.
//!
//! Where stages learn, speakers are tried after the channels, under the arrangement that is best then, and
//! only where what is still to be lost exceeds what the trial costs: on other channels their powers are
//! others. Whether those chosen do better than all is seen in a short stretch after it. Then come senders of
//! all stages (`senders`). Invariant: what is said changes only with a round. Tests: at the end of this file, and in `pipeline/tests`.

use super::arrangement::Arrangements;
use super::directions::{Directions, Stretch};
use super::learning::{Directive, Listener, Occasion, Ranks};
use super::senders::{Roster, Senders, Verdict};
use super::tuning::{Scores, Tuning};
use super::yields::{Count, Yields};
use thalweg_units::Dbm;
use thalweg_wire::pipeline::Group;
use thalweg_wire::route::{Channels, TrialRun};

/// Packets of a trial of speakers, in what it loses and its exchange; twice, since at most half of a loss
/// is likely to go.
const SPEAKERS_COST: u32 = 2 * 20;

/// Those chosen speak for 2 to this power packets before they are judged.
const SHORT: u8 = 7;

/// An arrangement that is thought to bring less, 15 of the 16 of its trial, needs speakers before it is
/// known better, in 65536ths.
const POOR: u32 = 62_000;

/// What is known of settings of the channels.
#[derive(Debug, Clone, Copy)]
enum Settings {
    Fixed,
    Rotations(Scores, TrialRun),
    Arrangements(Yields, TrialRun),
}

/// What is known of the relays of the last but one stage, and under which setting.
#[derive(Debug, Clone, Copy)]
struct Speakers {
    listener: Listener,
    under: Option<u8>,
    /// What came while those chosen spoke.
    count: Count,
}

/// How a round went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Which.
    pub round: u16,
    /// Of the channels, when it ended.
    pub setting: u8,
    /// What it was to be; all packets, where the source does not say.
    pub stretch: Stretch,
    /// Packets of it.
    pub sent: u16,
    /// Packets that are there after it.
    pub received: u16,
    /// Packets that are not.
    pub missing: u16,
    /// How many, from the first on, have been sent.
    pub reach: u16,
}

/// The destination's knowledge.
#[derive(Debug, Clone, Copy)]
pub struct Advice {
    settings: Settings,
    speakers: Option<Speakers>,
    senders: Option<Senders>,
    /// Received when the last round was over.
    before: u16,
    said: Directions,
}

impl Advice {
    /// Nothing known yet.
    pub fn new(
        channels: &Channels,
        tuning: Option<Tuning>,
        ranks: Option<Ranks>,
        roster: Option<Roster>,
    ) -> Self {
        let settings = match tuning {
            None => Settings::Fixed,
            Some(Tuning::Rotations(run)) => {
                Settings::Rotations(Scores::new(Tuning::Rotations(run).rotations(channels)), run)
            }
            Some(Tuning::Arrangements(run)) => {
                let all = Arrangements::of(channels);
                Settings::Arrangements(Yields::new(all.pool(), all.orders()), run)
            }
        };
        Self {
            settings,
            speakers: ranks.map(|ranks| Speakers {
                listener: Listener::new(ranks),
                under: None,
                count: Count::default(),
            }),
            senders: roster.map(Senders::new),
            before: 0,
            said: Directions {
                next: Stretch::Order(0),
                ..Directions::NONE
            },
        }
    }

    /// Packet `number` of `group` arrived with `rssi` under `setting`.
    pub fn heard(&mut self, (group, number): (Group, u16), setting: u8, rssi: Dbm) {
        let tried = matches!(self.said.next, Stretch::Order(_));
        match &mut self.settings {
            Settings::Rotations(scores, _) if tried => scores.heard(setting),
            Settings::Arrangements(yields, _) if tried => yields.heard(setting),
            _ => {}
        }
        if let Some(speakers) = &mut self.speakers {
            let hears = match speakers.listener.occasion() {
                Occasion::FirstPackets => tried,
                Occasion::WhenTold => self.said.next == Stretch::Speakers,
            };
            if hears {
                speakers.listener.heard(group, number, rssi);
            }
        }
        if let Some(senders) = &mut self.senders {
            senders.heard(group, number);
        }
    }

    /// A round is over.
    pub fn round_over(&mut self, report: &Report) {
        let came = report.received.saturating_sub(self.before);
        self.before = report.received;
        let said = core::mem::replace(&mut self.said, Directions::NONE);
        match &mut self.settings {
            Settings::Fixed => {}
            Settings::Rotations(scores, run) => {
                if report.round == 0 {
                    scores.trial_over(run.get(), report.received, report.missing);
                } else {
                    scores.round_over(report.setting, report.received, report.missing);
                }
                self.said.setting = scores.best();
            }
            Settings::Arrangements(yields, run) => {
                let verdict = match &mut self.senders {
                    Some(senders) => senders.round_over(
                        (report.stretch, report.setting),
                        (report.sent, came),
                        report.reach,
                    ),
                    None => Verdict::Usual(report.sent, came),
                };
                match report.stretch {
                    Stretch::Order(order) => yields.trial_over(order, report.sent, run.get()),
                    Stretch::Speakers | Stretch::Silences(_) => {}
                    Stretch::Packets(_) | Stretch::All => {
                        let chosen = match &mut self.speakers {
                            Some(speakers) if said.speakers != Directive::ALL => {
                                Some(&mut speakers.count)
                            }
                            _ => None,
                        };
                        match (verdict, chosen) {
                            (Verdict::Nothing, _) => {}
                            (Verdict::Usual(sent, came), None) => {
                                yields.round_over(report.setting, sent, came);
                            }
                            (Verdict::Usual(sent, came), Some(count)) => {
                                // What those lose who were just chosen is their doing, unless it is all.
                                if !count.is_empty() || u32::from(came) * 4 < u32::from(sent) {
                                    yields.round_of_others(report.setting, sent, came);
                                }
                                count.add(sent, came);
                            }
                            (Verdict::Without(sent, came), _) => {
                                yields.round_of_others(report.setting, sent, came);
                            }
                        }
                    }
                }
                let best = yields.count().estimate();
                let held = self.senders.as_ref().and_then(|s| s.holds(best));
                self.said.setting = held.unwrap_or(yields.best());
                self.said.next = match (yields.next(report.missing), held) {
                    (Stretch::Order(_), Some(_)) => Stretch::Packets(SHORT),
                    (next, _) => next,
                };
            }
        }
        if let Some(speakers) = &mut self.speakers {
            if said.next == Stretch::Speakers && report.stretch != said.next {
                // The source did not hear of it: what was heard was everybody.
                speakers.under = None;
            }
            match (speakers.listener.occasion(), &self.settings) {
                (Occasion::FirstPackets, _) => self.said.speakers = speakers.listener.directive(),
                (Occasion::WhenTold, Settings::Arrangements(yields, _)) => {
                    speakers.advise(yields, report.missing, &mut self.said);
                }
                (Occasion::WhenTold, _) => {}
            }
        }
        if let (Some(senders), Settings::Arrangements(yields, _)) =
            (&mut self.senders, &self.settings)
        {
            let all = match &self.speakers {
                Some(speakers) if self.said.speakers != Directive::ALL => speakers.count,
                _ => yields.count_of(self.said.setting),
            };
            let (under, next) = ((self.said.setting, self.said.speakers), self.said.next);
            (self.said.silent, self.said.next) = senders.advise(under, all, report.missing, next);
        }
    }

    /// How to go on.
    pub const fn directions(&self) -> Directions {
        self.said
    }
}

impl Speakers {
    /// Adds to `said` who is to speak.
    fn advise(&mut self, yields: &Yields, missing: u16, said: &mut Directions) {
        if matches!(said.next, Stretch::Order(_)) {
            return;
        }
        let all = yields.count_of(said.setting);
        if self.under == Some(said.setting) {
            let better = self.count.is_empty() || self.count.estimate() > all.estimate();
            if better {
                said.speakers = self.listener.directive();
                let fresh = self.count.is_empty() && said.speakers != Directive::ALL;
                if fresh && missing > 4 << SHORT {
                    // Whether they do better is seen soon.
                    said.next = Stretch::Packets(SHORT);
                }
            }
        } else if (all.is_known() || all.estimate() < POOR)
            && Yields::loses(all, missing) > SPEAKERS_COST
        {
            self.listener.forget();
            (self.under, self.count) = (Some(said.setting), Count::default());
            said.next = Stretch::Speakers;
        }
    }
}
