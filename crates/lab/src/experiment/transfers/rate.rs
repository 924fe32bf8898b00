//! The effective physical rate, measured as the paper does: a single hop without losses.

use crate::experiment::sites::{faithful_survey, Sites};
use crate::experiment::{ExperimentError, Result};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use thalweg_host::survey::Survey;
use thalweg_host::transfer::pipeline::TransferTerms;
use thalweg_medium::random::{derive, stream};
use thalweg_medium::Outcome as Fate;
use thalweg_planner::{plan, RouteRequest};
use thalweg_simnet::collect::random_object;
use thalweg_simnet::motes::Motes;
use thalweg_testbeds::Site;
use thalweg_units::{Channel, Duration, SimTime};
use thalweg_wire::route::Scheme;

/// The effective physical rate in kbit/s (P3, section V): the bits of data frames, header and
/// payload, per time at which a single hop without losses delivers them. Measured at the sink of
/// testbed `pair`.
pub(super) fn single_hop_rate(sites: &Sites, seed: u64) -> Result<f64> {
    const PACKETS: usize = 500;
    let testbed = sites.testbed("pair")?;
    let site = Site::new(testbed.clone(), seed);
    let unfit = |why: &str| ExperimentError::unfit(&site, why.to_owned());
    let drawn = derive(seed, "single hop", &[]);
    let mut session = Motes::open(&site, drawn)?;
    let sink = testbed.sink_index();
    let mut silent = |_| ControlFlow::Continue(());
    let survey = Survey {
        interval: Duration::from_millis(10),
        ..faithful_survey(Channel::LAST)
    };
    let links = session.survey(sink, survey, &mut silent)?.links;
    let source = usize::from(sink == 0);
    let request = RouteRequest {
        hops: Some(1),
        min_paths: 1,
        ..RouteRequest::new(source, sink)
    };
    let mut rng = stream(drawn, "plan", &[]);
    let plan = plan(&links, &request, &mut rng).map_err(|e| unfit(&e.to_string()))?;
    let terms = TransferTerms::default();
    let payload = usize::from(terms.payload.bytes());
    let of = testbed.nodes[source].id;
    session.offer(source, random_object(seed, of, PACKETS * payload));
    let heard: Arc<Mutex<Vec<(SimTime, usize)>>> = Arc::default();
    let hook = heard.clone();
    session.network().trace(Some(Box::new(move |r| {
        if r.to == sink && r.outcome == Fate::Good && r.mpdu.len() > payload {
            let mut heard = hook.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push((r.at, r.mpdu.len()));
        }
    })));
    session.fetch(&plan, Scheme::P3, &terms, &mut silent)?;
    session.network().trace(None);
    let heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    let data: Vec<&(SimTime, usize)> = heard.iter().take(PACKETS).collect();
    let (Some((first, _)), Some((last, _))) = (data.first(), data.last()) else {
        return Err(unfit("a single hop delivered nothing"));
    };
    let bits: usize = data.iter().skip(1).map(|(_, bytes)| bytes * 8).sum();
    Ok(bits as f64 / 1000.0 / last.since(*first).as_secs_f64())
}
