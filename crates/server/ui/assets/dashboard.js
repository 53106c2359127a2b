// The dashboard: draws the pipelines of the page's block of data, and keeps them true.
import { glyph, icon, keep, kept, make } from './dom.js';
import { card, label, nameCells, row, shownStatus, signature, writeAges } from './dash-cards.js';
import { Pipelines, counts, groupKey, gather, pipelineUrl, sections, statusOf } from './dash-data.js';
import { Grid } from './dash-grid.js';
import { moveByKeys } from './dash-keys.js';
import { drawSide, listenToSide } from './dash-side.js';
import { morph } from './fragment.js';
import { follow, send } from './page.js';
import { starKeys, toggleStar } from './stars.js';
import { now, setClock } from './times.js';

const block = JSON.parse(document.getElementById('dashboard-data')?.textContent ?? '{}');
const VIEWS = ['cards', 'list', 'dense'];
const search = /** @type {HTMLInputElement} */ (document.getElementById('search'));
const root = /** @type {HTMLElement} */ (document.getElementById('sections'));
const side = document.getElementById('side-lists');
const archived = /** @type {HTMLInputElement | null} */ (document.getElementById('archived'));

const pipelines = new Pipelines();
const grid = new Grid(root);
/** Roles and rights by team. @type {Map<string, { role: string, rights: number }>} */
const teams = new Map((block.teams ?? []).map(([name, role, rights]) => [name, { role, rights }]));
const state = { text: '', view: 'cards', all: false, by: kept('group', 'team'), sort: '' };
/** Pipelines that have a job or resource of a name, by the term that asked. @type {Map<string, Set<number> | null>} */
const having = new Map();

function readAddress() {
  const query = new URLSearchParams(location.search);
  const views = (query.get('view') ?? '').split(/[\s,]+/);
  state.text = query.get('search') ?? '';
  state.view = views.find((view) => VIEWS.includes(view)) ?? kept('view', 'cards');
  state.all = views.includes('all');
  state.sort = query.get('sort') ?? '';
}

/** Writes what is chosen into the address, which is what people share. */
function writeAddress() {
  const query = new URLSearchParams(location.search);
  const set = (name, value) => (value ? query.set(name, value) : query.delete(name));
  set('search', state.text);
  set('sort', state.view === 'list' ? state.sort : '');
  set('view', [state.view !== 'cards' && state.view, state.all && 'all'].filter(Boolean).join(','));
  const text = query.toString().replaceAll('%2C', ',').replaceAll('%3A', ':');
  history.replaceState(null, '', text ? `/?${text}` : '/');
}

const rightsOf = (team) => teams.get(team)?.rights ?? 0;

/** Asks which pipelines have a job or a resource of a name; until the answer is here, none is hidden. */
function havingTerm(key, term) {
  const asked = `${key}:${term.how}:${term.text}`;
  if (!having.has(asked)) {
    having.set(asked, null);
    const query = new URLSearchParams({ having: key, name: term.text, how: term.how });
    fetch(`/airside/v1/go?${query}`).then((response) => (response.ok ? response.json() : null)).then((found) => {
      if (found) having.set(asked, new Set(found.pipelines));
      changed();
    }).catch(() => having.delete(asked));
  }
  return having.get(asked) ?? null;
}

/** The search language, loaded with the first search. @type {typeof import('./search.js') | null} */
let language = null;

async function learn() {
  language ??= await import('./search.js');
  changed();
}

/** Returns the terms of the search. */
function termsOf(text) {
  if (!text.trim()) return [];
  if (!language) learn();
  return language?.parse(text) ?? [];
}

/** Returns the search with the term added, or without it if it is there. */
function toggleTerm(text, term) {
  const words = text.split(/\s+/).filter(Boolean);
  const rest = words.filter((word) => word !== term);
  return (rest.length === words.length ? [...words, term] : rest).join(' ');
}

/** Returns the pipelines that the search finds. */
function found(terms) {
  const around = { now: now(), having: havingTerm };
  const withArchived = state.all || language?.wantsArchived(terms);
  const stars = starKeys();
  return [...pipelines.all.values()].filter((pipeline) => {
    if (pipeline.archived && !withArchived) return false;
    if (terms.length === 0) return true;
    pipeline.star = stars.has(pipeline.key) || (pipeline.grouped && stars.has(groupKey(pipeline)));
    return language?.matches(terms, pipeline, around) ?? true;
  });
}

let frame = 0;

/** Draws the page again with the next frame. */
function changed() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    draw();
  });
}

function draw() {
  const terms = termsOf(state.text);
  const shown = found(terms);
  const group = terms.find((term) => term.key === 'group' && !term.not);
  const parts = sections(shown, { by: state.by, stars: starKeys(), flat: Boolean(group), sort: state.view === 'list' ? state.sort : '' });
  for (const part of parts) {
    const many = part.entries.length === 1 ? 'pipeline' : 'pipelines';
    part.note = `${part.entries.reduce((sum, entry) => sum + (entry.members?.length ?? 1), 0)} ${group ? 'instances' : many}`;
    if (part.team) part.chip = teams.get(part.team)?.role ?? 'public';
    if (group && part.team) part.title = `${part.team} / ${part.entries[0]?.name ?? group.text}`;
  }
  drawHead();
  grid.show(parts, kinds(Boolean(group))[state.view]);
  drawEmpty(shown.length);
  drawAround();
  const all = [...pipelines.all.values()].filter((pipeline) => !pipeline.archived).length;
  const told = terms.length ? `${shown.length} of ${all} pipelines` : '';
  const place = document.getElementById('told');
  if (place && place.textContent !== told) place.textContent = told;
}

/** Returns how each view draws. In the page of a group, vars tell the cards apart. */
function kinds(inGroup) {
  const sign = (entry) => signature(entry, rightsOf(entry.team));
  const named = (entry) => (inGroup && entry.varsText ? entry.varsText : entry.name);
  return {
    cards: { list: 'cards', signature: sign, draw: (entry) => {
      const drawn = card(inGroup ? { ...entry, varsText: '' } : entry, rightsOf(entry.team), { name: named(entry) });
      if (names.has(entry.key)) nameCells(drawn, entry, names.get(entry.key), (job) => jobUrl(entry, job));
      return drawn;
    } },
    list: { list: 'dash-list', signature: sign, draw: (entry) => row(entry, rightsOf(entry.team)) },
    dense: { list: 'dense dash-dense', signature: sign, draw: label },
  };
}

function drawEmpty(count) {
  const old = document.getElementById('nothing');
  if (count > 0 || (!state.text && pipelines.all.size > 0 && state.all)) {
    old?.remove();
    return;
  }
  if (old) return;
  const clear = make('button', { type: 'button', class: 'btn', click: () => setText('') }, 'Show all');
  root.after(make('div', { class: 'empty', id: 'nothing' }, make('h2', {}, state.text ? 'No pipeline is like this' : 'Nothing to show'),
    make('p', { class: 'soft' }, state.text ? 'All terms of the search must hold; -term leaves out.' : 'All pipelines are archived.'), state.text && clear));
}

const SORTED = [['name', 'Pipeline'], ['', 'Jobs'], ['status', 'Status'], ['running', 'Running'], ['since', 'Since']];

/** Draws the head of the list, whose names sort. */
function drawHead() {
  const old = document.getElementById('dash-head');
  if (state.view !== 'list') {
    old?.remove();
    return;
  }
  const head = make('div', { class: 'dash-row dash-head not-phone', id: 'dash-head', role: 'group', 'aria-label': 'Sort by' }, ...SORTED.map(([key, text]) => (key
    ? make('button', { type: 'button', 'data-sort': key, 'aria-pressed': String(state.sort === key), class: state.sort === key && 'sorted' }, text)
    : make('span', {}, text))), make('span', {}));
  if (old) morph(old, head);
  else root.before(head);
}

/** Draws counters, side bar and activity: what is beside the pipelines. */
function drawAround() {
  const active = [...pipelines.all.values()].filter((pipeline) => !pipeline.archived);
  const { by, running, waiting } = counts(active);
  const place = document.getElementById('counters');
  if (place) morph(place, counters(by));
  const activity = document.getElementById('activity');
  if (activity) morph(activity, activityOf(running, waiting));
  const count = document.getElementById('side-running');
  if (count) count.textContent = running ? `${running} running` : '';
  if (side) {
    const fresh = make('div', { id: 'side-lists', class: 'side-lists' }, ...drawSide(side, active, find).childNodes);
    morph(side, fresh);
  }
  for (const button of document.querySelectorAll('[data-view]')) {
    button.setAttribute('aria-pressed', String(button.getAttribute('data-view') === state.view));
  }
  const grouped = document.getElementById('grouped');
  if (grouped) grouped.textContent = { team: 'Group by team', status: 'Group by status', none: 'One list' }[state.by] ?? '';
  if (archived) archived.checked = state.all;
}

function counters(by) {
  const terms = state.text.split(/\s+/);
  const row = make('div', { class: 'row', id: 'counters', role: 'group', 'aria-label': 'Filters' });
  for (const [status, count] of Object.entries(by)) {
    const term = `status:${status}`;
    const on = terms.includes(term);
    if (!count && !on) continue;
    const name = status === 'running' ? 'started' : status;
    row.append(make('button', { type: 'button', class: 'filter', 'data-key': status, 'data-term': term, 'aria-pressed': String(on), title: `Show only ${status}` },
      glyph(name), count, make('span', { class: 'hidden-text' }, ` ${status}`)));
  }
  return row;
}

function activityOf(running, waiting) {
  const link = (status, text) => make('a', { href: '/airside/builds', 'data-key': status }, glyph(status), text);
  return make('div', { class: 'activity', id: 'activity' }, running > 0 && link('started', `${running} running`),
    waiting > 0 && link('pending', `${waiting} waiting`));
}

/** Finds a pipeline or a group by the key of a favourite. */
function find(key) {
  if (key.startsWith('p')) return pipelines.all.get(Number(key.slice(1))) ?? null;
  const members = [...pipelines.all.values()].filter((pipeline) => pipeline.grouped && groupKey(pipeline) === key);
  return members.length ? gather(members)[0] : null;
}

function setText(text) {
  search.value = text;
  state.text = text;
  writeAddress();
  changed();
}

function setView(view) {
  state.view = view;
  keep('view', view);
  writeAddress();
  changed();
}

/** Names and builds of the jobs of pipelines that were pointed at. @type {Map<string, { name: string, build: string | null }[]>} */
const names = new Map();

function jobUrl({ team, name, vars }, job) {
  const rest = `/jobs/${encodeURIComponent(job.name)}${job.build ? `/builds/${encodeURIComponent(job.build)}` : ''}`;
  return pipelineUrl(team, name, vars, rest);
}

/** Loads the names of a pipeline's jobs when one points at its card: thousands of names are many bytes. */
async function nameJobs(element) {
  const pipeline = find(element.getAttribute('data-key') ?? '');
  if (!pipeline || pipeline.members || element.dataset.named === 'yes') return;
  element.dataset.named = 'yes';
  setTimeout(() => delete element.dataset.named, 10000);
  const response = await fetch(`/api/v1${pipelineUrl(pipeline.team, pipeline.name, pipeline.vars, '/jobs')}`).catch(() => null);
  if (!response?.ok) return;
  const jobs = await response.json();
  const named = jobs.map((job) => ({ name: job.name, build: (job.next_build ?? job.finished_build)?.name ?? null }));
  names.set(pipeline.key, named);
  if (names.size > 200) names.delete(names.keys().next().value ?? '');
  nameCells(element, pipeline, named, (job) => jobUrl(pipeline, job));
}

let pointing = 0;
root.addEventListener('pointerover', (event) => {
  const element = event.target instanceof Element ? event.target.closest('.card, .dash-row') : null;
  clearTimeout(pointing);
  if (element) pointing = setTimeout(() => nameJobs(/** @type {HTMLElement} */ (element)), 120);
});

/** Does what a button of a card says. What the server did is shown at once; the stream confirms it. */
async function doAct(act, pipeline) {
  if (act === 'star') {
    const { key, team, name, varsText, href } = pipeline;
    toggleStar({ key, team, name, vars: varsText, href });
    return;
  }
  if (!pipeline || pipeline.members) return;
  const verbs = { pause: pipeline.paused ? 'unpause' : 'pause', expose: pipeline.exposed ? 'hide' : 'expose' };
  if (!(rightsOf(pipeline.team) & { pause: 1, expose: 2 }[act])) return;
  const done = await send('PUT', `/api/v1${pipelineUrl(pipeline.team, pipeline.name, pipeline.vars, `/${verbs[act]}`)}`);
  if (!done) return;
  if (act === 'expose') pipeline.exposed = verbs[act] === 'expose';
  else {
    pipeline.paused = verbs[act] === 'pause';
    pipeline.by = '';
    pipeline.status = statusOf(pipeline.paused, pipeline.archived, pipeline.jobs);
  }
  changed();
}

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target.closest('button') : null;
  if (!target) return;
  const { do: act, term, view, group, sort } = target.dataset;
  if (act) {
    const key = target.closest('[data-key]')?.getAttribute('data-key') ?? '';
    doAct(act, find(key));
  } else if (term) setText(toggleTerm(state.text, term));
  else if (view) setView(view);
  else if (group) {
    state.by = group;
    keep('group', group);
    changed();
  } else if (sort !== undefined && sort) {
    state.sort = state.sort === sort ? '' : sort;
    writeAddress();
    changed();
  }
});

archived?.addEventListener('change', () => {
  state.all = archived.checked;
  writeAddress();
  changed();
});
document.addEventListener('airside:stars', changed);
if (side) listenToSide(side, changed);

const focusFirst = moveByKeys(grid, {
  act: doAct,
  nextView: () => setView(VIEWS[(VIEWS.indexOf(state.view) + 1) % VIEWS.length]),
  shift: (by) => ordering().then(({ shift }) => shift(ordered, by)),
});

const groupNames = () => [...new Set([...pipelines.all.values()].filter((one) => one.grouped).map((one) => one.name))];
const teamNames = () => [...new Set([...pipelines.all.values()].map((one) => one.team))];
const searching = {
  names: () => ({ teams: teamNames(), groups: groupNames() }),
  changed(text) {
    state.text = text;
    writeAddress();
    changed();
  },
  leave: focusFirst,
};
search.addEventListener('focus', async () => {
  const { searchField } = await import('./dash-search.js');
  searchField(search, searching);
}, { once: true });
addEventListener('popstate', () => {
  readAddress();
  search.value = state.text;
  changed();
});

const ofDashboard = (run) => (event) => event.detail.topic === 'dashboard' && run(event.detail);
document.addEventListener('airside:state', ofDashboard((all) => {
  pipelines.take(all);
  changed();
}));
document.addEventListener('airside:patch', ofDashboard((patch) => pipelines.patch(patch) && changed()));
document.addEventListener('airside:part', ofDashboard(({ parts }) => parts.includes('all') && follow(['dashboard'])));

/** What ordering needs of this page; it is loaded when one points at a card. */
const ordered = { find, rightsOf, sections: () => grid.sections, pipelines, changed, text: () => state.text };
const ordering = () => import('./dash-order.js');
root.addEventListener('pointerover', async () => (await ordering()).orderByDrag(root, ordered), { once: true });
hideSeenWall();
document.addEventListener('airside:parts', hideSeenWall);

/** Leaves out a message on the wall that this browser's user has closed. */
function hideSeenWall() {
  const wall = document.querySelector('[data-wall]');
  if (wall && kept('wall', '') === wall.getAttribute('data-wall')) wall.remove();
}
document.getElementById('wall')?.addEventListener('click', (event) => {
  const close = event.target instanceof Element ? event.target.closest('[data-act=dismiss]') : null;
  if (close) keep('wall', close.closest('[data-wall]')?.getAttribute('data-wall'));
}, { capture: true });

setClock(block.now);
readAddress();
search.value = state.text;
if (block.live?.items) pipelines.take(block.live);
if (state.text) await learn();
draw();
setInterval(() => !document.hidden && writeAges(root), 1000);
