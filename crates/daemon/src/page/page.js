// Keeps the page up to date: one event stream. A job's progress is put where it is shown; when more has
// changed, the page is asked for anew and its parts marked data-live are replaced. All works without this.
'use strict';
const status = document.getElementById('link');
const states = new Map();
let wait = 0;

// What in a part can have the focus.
function focusable(part) {
  return [...part.querySelectorAll('a[href], button, summary, [tabindex]')];
}

async function refresh() {
  wait = 0;
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const old of document.querySelectorAll('[data-live]')) {
      const now = fresh.getElementById(old.id);
      if (!now || old.innerHTML === now.innerHTML) continue;
      // What somebody types into stays under their fingers until the next time.
      const held = old.contains(document.activeElement) ? document.activeElement : null;
      if (held && held.matches('input, select, textarea')) continue;
      const turn = held ? focusable(old).indexOf(held) : -1;
      const open = [...old.querySelectorAll('details')].map((e) => e.open);
      const scrolled = [...old.querySelectorAll('.scroll')].map((e) => [e.scrollLeft, e.scrollTop]);
      const place = [old.scrollLeft, old.scrollTop];
      old.replaceWith(now);
      [now.scrollLeft, now.scrollTop] = place;
      now.querySelectorAll('details').forEach((e, n) => { if (open[n]) e.open = true; });
      if (held) {
        const link = held.getAttribute('href');
        const same = link && [...now.querySelectorAll('a')].find((e) => e.getAttribute('href') === link);
        const again = same || focusable(now)[turn];
        if (again) again.focus({ preventScroll: true });
      }
      now.querySelectorAll('.scroll').forEach((e, n) => {
        if (scrolled[n]) [e.scrollLeft, e.scrollTop] = scrolled[n];
      });
    }
  } catch { /* the stream says when the gateway is back */ }
}

function soon(ms) {
  if (!wait) wait = setTimeout(refresh, ms);
}

function seconds(s) {
  return s < 10 ? s.toFixed(1) + ' s' : s < 120 ? s.toFixed(0) + ' s' : (s / 60).toFixed(0) + ' min';
}

function job(told) {
  const shown = {
    progress: told.progress * 100,
    phase: told.phase,
    rate_kbps: told.rate_kbps === null ? null : told.rate_kbps.toFixed(0),
    round: told.round,
    left_s: told.left_s === null ? null : seconds(told.left_s),
  };
  for (const place of document.querySelectorAll(`[data-job="${Number(told.id)}"]`)) {
    const value = shown[place.dataset.key];
    if (value === null || value === undefined) continue;
    if (place.tagName === 'PROGRESS') place.value = value;
    else place.textContent = value;
  }
  const state = told.state + (told.expected ? ' planned' : '');
  if (states.get(told.id) !== state) soon(150);
  else if (told.state === 'running') soon(3000);
  states.set(told.id, state);
  if (states.size > 500) states.delete(states.keys().next().value);
}

let events = null;

// Browsers open few connections to one place: a page that nobody sees leaves its own to others.
function leave() {
  if (events) events.close();
  events = null;
}

// Refused, since too many pages are open: this one asks now and then, and tries again to be told.
async function without() {
  let answers = false;
  try { answers = (await fetch('/healthz')).ok; } catch { /* it is away */ }
  status.textContent = answers
    ? 'Many pages are open: this one looks every 10 s.'
    : 'The gateway does not answer; trying again.';
  if (answers) soon(0);
  setTimeout(connect, answers ? 10000 : 3000);
}

function connect() {
  if (events || document.hidden) return;
  events = new EventSource('/api/events');
  events.onopen = () => { status.textContent = ''; soon(100); };
  events.onerror = () => {
    if (events && events.readyState === EventSource.CLOSED) {
      leave();
      without();
    } else {
      status.textContent = 'The gateway does not answer; trying again.';
    }
  };
  events.addEventListener('job', (e) => job(JSON.parse(e.data)));
  for (const other of ['log', 'network', 'plan', 'line', 'mqtt', 'lagged']) {
    events.addEventListener(other, () => soon(300));
  }
}

if (status) {
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : connect()));
  addEventListener('pagehide', leave);
  addEventListener('pageshow', connect);
  connect();
}
