//! A network behind a field that somebody else keeps, such as a line to a base station: survey, plan, fetch.
//!
//! What is known of the network beside its links is a testbed's: names, channels, boards. Time base: the
//! field's. Invariants: a transfer that the line broke off is tried again, within half a minute; an object is
//! handed out whole or not at all. Tests: `tests/line/`.

use crate::collect::{place, CollectError, Report, RETRY};
use crate::field::{Repairs, RunError, Transfer};
use std::ops::ControlFlow;
use thalweg_gateway::carry::account::{expected, Account};
use thalweg_gateway::carry::pipeline::{settling, Fetch, Order, Terms, SETTLING};
use thalweg_gateway::carry::ways::Ways;
use thalweg_gateway::field::{Field, FieldError, FieldTime, News};
use thalweg_gateway::job::{run, Failure, Progress, Retry};
use thalweg_gateway::known::{hops_seen, Ask, Known, CLEAN_CHANNELS};
use thalweg_gateway::line::LineError;
use thalweg_gateway::outcome::Outcome;
use thalweg_gateway::parts::{self, Assembly, Turn};
use thalweg_gateway::recovery;
use thalweg_gateway::registry::Pipelined;
use thalweg_gateway::survey::{SurveyJob, Surveyed};
use thalweg_medium::random::stream;
use thalweg_planner::{Place, Plan};
use thalweg_protocols::mote::Event;
use thalweg_testbeds::{Places, Site};
use thalweg_units::{Channel, ChannelSet, Duration, NodeId};

/// How long a base station that is away is waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often a job that the line broke off is begun, beside the first time.
const AGAIN: u32 = 3;
/// From one look for the base station to the next.
const LOOK: Duration = Duration::from_secs(1);

/// A plan, and what goes over it.
type Over = (Plan, Pipelined);

/// Told of a protocol, and how far it is; may break off.
type Observer<'a> = &'a mut dyn FnMut(&str, Progress) -> ControlFlow<()>;

/// A network that somebody else keeps, surveyed.
pub struct Distant<'a, F> {
    field: &'a mut F,
    site: &'a Site,
    known: Known,
    surveyed: Surveyed,
    /// The number of the next transfer.
    transfer: u16,
    /// When a transfer broke off that relays may not have given up yet.
    broken: Option<FieldTime>,
}

impl<'a, F: Field<Order = Order, Event = Event>> Distant<'a, F> {
    /// Has base station `sink` of `field` survey the nodes that `site` names, for `protocol`. Transfers are
    /// numbered from `transfer` on: nodes remember numbers for a while.
    ///
    /// # Errors
    /// [`CollectError`].
    pub fn survey(
        field: &'a mut F,
        site: &'a Site,
        (sink, protocol): (NodeId, Pipelined),
        channels: Option<&[Channel]>,
        transfer: u16,
        observer: Observer<'_>,
    ) -> Result<Self, CollectError> {
        let testbed = &site.testbed;
        let place = place(testbed);
        place.check_channels(channels)?;
        let index = place.index_of(sink)?;
        let wanted = channels
            .map(<[Channel]>::to_vec)
            .or_else(|| clean(testbed.channels));
        let on: ChannelSet = match &wanted {
            Some(list) => list.iter().copied().collect(),
            None => testbed.channels,
        };
        let survey = protocol.survey(on);
        let (ids, timing, places) = (&place.ids, &site.board.timing, places(site));
        let job = || SurveyJob::new(survey, ids, places.clone(), timing, sink);
        let mut watch = |progress| observer("", progress);
        let measure = |field: &mut F, broken| {
            let missed = &[];
            recovery::survey(field, broken, missed, job, &mut watch)
        };
        let surveyed = again(field, None, measure)?;
        let links = surveyed.links.clone();
        let known = Known::new(place, links, index, wanted, (stream, site.seed));
        Ok(Self {
            known: known.measured_at(field.now()),
            field,
            site,
            surveyed,
            transfer,
            broken: None,
        })
    }

    /// Plans for `ask`, and fetches what its source has, over other plans where it breaks off.
    ///
    /// # Errors
    /// [`CollectError`] where nothing can be said of the transfer; a transfer that fails is a report.
    pub fn fetch(&mut self, ask: &Ask, observer: Observer<'_>) -> Result<Report, CollectError> {
        let protocol = ask.protocol;
        let known = self.known.viewed_at(self.field.now());
        let first = known.plan(ask)?;
        let ids = &self.known.place().ids;
        let (source, sink) = (ids[first.source], ids[first.sink]);
        // As in a simulated network: P3 as published, over halves drawn anew.
        let anew = Ask {
            from: Some(source),
            protocol: Pipelined::P3,
            ..*ask
        };
        let predicted = expected(&first, protocol.scheme).0.clone();
        let channels = first.channels.iter().map(|c| c.number()).collect();
        let last_even = first.last_even.map(Channel::number);
        let next = |_: &Over, tried: u32| {
            let plan = || known.plan_attempt(&anew, u64::from(tried)).ok();
            let plan = protocol.has_paths().then(plan).flatten();
            plan.map(|plan| (plan, Pipelined::P3))
        };
        let attempt = |(plan, of): &Over, turn: Turn| {
            if turn.tried == 0 {
                let planned = turn.planned((source, sink), plan, ask.payload);
                if observer("", planned).is_break() {
                    return Err(CollectError::Stopped);
                }
            }
            self.transfer(plan, *of, (ask, turn), observer)
        };
        let terms = parts::Terms {
            part_bytes: ask.part_bytes(),
            expected: ask.bytes,
            retry: RETRY,
            pause: SETTLING,
        };
        let (mut there, begin) = (Assembly::default(), (first, protocol));
        let rest = |(_, of): &Over| settling(of.scheme);
        let fetched = parts::fetch(&mut there, terms, begin, rest, attempt, next)?;
        let mut outcome = fetched.outcome;
        let survey = self.surveyed.cost(self.known.routing_channel());
        outcome
            .core
            .after(survey.seconds(), survey.network_energy_j);
        let tried = (1..fetched.plans).map(|_| Pipelined::P3.name);
        let tried = match fetched.plans {
            1 => Vec::new(),
            _ => [protocol.name].into_iter().chain(tried).collect(),
        };
        Ok(Report {
            outcome,
            predicted_goodput_kbps: predicted.goodput_kbps,
            predicted,
            baseline: None,
            channels,
            last_even,
            survey,
            links_age_s: known.age().unwrap_or_default().as_secs_f64(),
            parts: fetched.parts as usize,
            tried,
            object: fetched.object,
        })
    }

    fn transfer(
        &mut self,
        plan: &Plan,
        of: Pipelined,
        (ask, turn): (&Ask, Turn),
        observer: Observer<'_>,
    ) -> Result<Transfer, CollectError> {
        let terms = of.terms(Terms {
            range: turn.range,
            payload: ask.payload,
            retry: Retry::NEVER,
            ..Terms::default()
        });
        let ids = &self.known.place().ids;
        let ways = Ways::of(plan, of.scheme, &terms, ids)?;
        let first = &mut self.transfer;
        let mut watch = |progress| observer(of.name, progress);
        let carry = |field: &mut F, broken: Option<FieldTime>| {
            if let Some(since) = broken {
                recovery::settle(field, since)?;
            }
            let mut job = Fetch::new(ways.clone(), *first, ids, &terms);
            // More than any of its attempts take.
            *first = first.wrapping_add(64);
            run(field, &mut job, &mut watch)
        };
        let fetched = again(self.field, self.broken.take(), carry)?;
        let settled = fetched.failure.is_none() && settling(of.scheme).is_zero();
        self.broken = (!settled).then(|| self.field.now());
        let account = Account {
            protocol: of.name,
            scheme: of.scheme,
            network: &self.site.testbed.name,
            ids,
            seed: self.site.seed,
        };
        let core = account.of(plan, &fetched, (&terms, &self.site.board.timing));
        let payload = u64::from(terms.payload.bytes());
        let packets = core.bytes.div_ceil(payload) as u32;
        let seen = hops_seen((plan, ids), packets, &fetched, self.field.now());
        let extra = Repairs {
            retransmitted: None,
            wake_up_s: fetched.wake_up.as_secs_f64(),
            lame_chains: fetched.lame_chains,
            bad_hops: fetched.bad_hops,
        };
        self.known.saw(&seen);
        Ok((Outcome { core, extra }, fetched.part))
    }
}

/// Does what `job` does, and again where the line to its station broke off. It is told when a transfer broke off that
/// relays may not have given up, which `broken` says of the first time.
fn again<F, X>(
    field: &mut F,
    mut broken: Option<FieldTime>,
    mut job: impl FnMut(&mut F, Option<FieldTime>) -> Result<X, Failure>,
) -> Result<X, RunError>
where
    F: Field,
{
    let (mut tries, mut until) = (0, None);
    loop {
        let why = match job(field, broken) {
            Ok(brings) => return Ok(brings),
            Err(why) => why,
        };
        let now = field.now();
        // A line that is still down is no further try.
        match &why {
            Failure::Silent(_) | Failure::Restarted(_) | Failure::Refused(_) if tries < AGAIN => {
                tries += 1;
                (until, broken) = (None, Some(now));
            }
            Failure::Field(why) if is_away(why) => {}
            _ => return Err(why.into()),
        }
        if now >= *until.get_or_insert(now + PATIENCE) {
            return Err(why.into());
        }
        // What the station still tells of the last one is nobody's.
        while field.now() < now + LOOK {
            if let News::Cancelled = field.next(now + LOOK).map_err(Failure::from)? {
                return Err(Failure::Cancelled.into());
            }
        }
    }
}

/// Whether a base station may come back.
fn is_away(why: &FieldError) -> bool {
    let FieldError::Broken(why) = why else {
        return false;
    };
    matches!(why.downcast_ref(), Some(LineError::Down { .. }))
}

/// P3's channels, where the network has them all.
pub(crate) fn clean(of: ChannelSet) -> Option<Vec<Channel>> {
    let clean = CLEAN_CHANNELS.iter().filter_map(|c| Channel::new(*c).ok());
    let clean: Vec<Channel> = clean.collect();
    clean.iter().all(|c| of.contains(*c)).then_some(clean)
}

/// Where nodes are, if it is known.
pub(crate) fn places(site: &Site) -> Option<Vec<Place>> {
    if site.testbed.places == Places::Unknown {
        return None;
    }
    let ears = site.environment.ears.iter();
    let place = |p: thalweg_medium::Placement| Place {
        x_m: p.position.x_m,
        y_m: p.position.y_m,
        z_m: p.position.z_m,
        floor: p.floor,
    };
    ears.map(|ear| ear.placement.map(place)).collect()
}
