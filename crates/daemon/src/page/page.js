// Keeps the page up to date: one event stream. A job's progress is put where it is shown; when more has
// changed, the page is asked for again and its parts marked data-live are replaced. Times are shown by the reader's
// clock, and a map's nodes are reached by arrow keys. All works without this.
'use strict';
const status = document.getElementById('link');
const states = new Map();
let wait = 0;

// Times by the reader's clock: the server tells them in UTC, and says so.
function localize(root) {
  const two = (n) => String(n).padStart(2, '0');
  for (const e of root.querySelectorAll('time[datetime]')) {
    const at = new Date(e.getAttribute('datetime'));
    if (isNaN(at)) continue;
    const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join('-');
    const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two);
    e.textContent = day + ' ' + clock.slice(0, e.classList.contains('exact') ? 3 : 2).join(':');
    e.title = at.toString();
  }
}

// What something that can have the focus is for: where it leads, what it does, what it is called.
function key(e) {
  const action = e.form && e.form.getAttribute('action');
  return [e.tagName, e.getAttribute('href'), action, e.getAttribute('aria-label')].join(' ');
}

// What is shown in a part under that key.
function keyed(part, wanted) {
  const all = [...part.querySelectorAll('a[href], button, summary, [tabindex]')];
  return all.filter((e) => key(e) === wanted && e.getClientRects().length);
}

async function refresh() {
  wait = 0;
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (!answer.ok || answer.redirected) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    localize(fresh);
    for (const old of document.querySelectorAll('[data-live]')) {
      const now = fresh.getElementById(old.id);
      if (!now || old.innerHTML === now.innerHTML) continue;
      // What somebody types into stays under their fingers until the next time.
      const held = old.contains(document.activeElement) ? document.activeElement : null;
      if (held && held.matches('input, select, textarea')) continue;
      const wanted = held && key(held);
      const turn = held ? keyed(old, wanted).indexOf(held) : -1;
      const open = [...old.querySelectorAll('details')].map((e) => e.open);
      const scrolled = [...old.querySelectorAll('.scroll')].map((e) => [e.scrollLeft, e.scrollTop]);
      const place = [old.scrollLeft, old.scrollTop];
      old.replaceWith(now);
      [now.scrollLeft, now.scrollTop] = place;
      now.querySelectorAll('details').forEach((e, n) => { if (open[n]) e.open = true; });
      if (held) {
        // Where it is gone, nothing else gets the focus: Enter must not press another button.
        const same = keyed(now, wanted);
        const again = same[turn] || same[0];
        if (again) again.focus({ preventScroll: true });
      }
      now.querySelectorAll('.scroll').forEach((e, n) => {
        if (scrolled[n]) [e.scrollLeft, e.scrollTop] = scrolled[n];
      });
    }
    ring();
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
  const places = document.querySelectorAll(`[data-job="${Number(told.id)}"]`);
  // A job that begins has no bar yet.
  if (told.state === 'running' && !places.length) soon(50);
  for (const place of places) {
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

// A map is one stop; from it arrows lead to the next node in their direction.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
addEventListener('keydown', (e) => {
  const map = e.target.closest && e.target.closest('.map');
  if (!map) return;
  if (e.key === 'Escape') map.focus();
  const way = ARROWS[e.key];
  if (!way) return;
  e.preventDefault();
  const middle = (node) => {
    const box = node.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const nodes = [...map.querySelectorAll('a')].filter((a) => a.getClientRects().length);
  const box = map.getBoundingClientRect();
  const from = e.target === map ? [way[0] < 0 ? box.right : box.x, way[1] < 0 ? box.bottom : box.y] : middle(e.target);
  // Along the arrow, and not much aside.
  const cost = (node) => {
    const [x, y] = middle(node).map((v, n) => v - from[n]);
    const along = x * way[0] + y * way[1];
    return along < 1 ? Infinity : along + 2 * Math.abs(x * way[1] + y * way[0]);
  };
  const next = nodes.filter((node) => node !== e.target).sort((a, b) => cost(a) - cost(b))[0];
  if (next && cost(next) < Infinity) next.focus();
});

// What a map shows is sent as it changes; while somebody types, what matches is ringed at once.
const options = document.getElementById('options');
function ring() {
  if (!options) return;
  const wanted = options.elements.find.value.trim().toLowerCase();
  for (const node of document.querySelectorAll('.map a')) {
    const name = node.getAttribute('aria-label').split(':')[0].toLowerCase();
    const [, number, label] = /^node (\d+)(?: \((.*)\))?$/.exec(name) || [];
    const matches = wanted && (number === wanted || (label && label.includes(wanted)));
    node.classList.toggle('found', Boolean(matches));
  }
}
if (options) {
  options.addEventListener('change', (e) => { if (e.target.type !== 'search') options.requestSubmit(); });
  options.addEventListener('input', ring);
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

localize(document);
if (status) {
  document.addEventListener('visibilitychange', () => (document.hidden ? leave() : connect()));
  // Ages grow without an event.
  setInterval(() => { if (!document.hidden) soon(0); }, 60000);
  addEventListener('pagehide', leave);
  addEventListener('pageshow', connect);
  connect();
}
