// Draws pipelines: as cards, as rows of a list, as dense labels.
import { glyph, icon, make } from './dom.js';
import { cellOf, jobState, memberCell } from './dash-data.js';
import { SHAPES, placeCells, placeRow } from './dash-cells.js';
import { ageText, now } from './times.js';

/** @typedef {import('./dash-data.js').Pipeline} Pipeline */

const ROOM = { card: { width: 230, height: 48 }, list: { width: 320, height: 16 } };
const WORDS = { started: 'running', archived: 'archived' };
/** Pipelines with more jobs have no link on each of their cells. */
const MAX_LINKS = 64;
const AREAS = ['succeeded', 'failed', 'errored', 'aborted', 'started', 'pending', 'paused'];

/** Returns the status whose colour and glyph a pipeline has. */
export function shownStatus(pipeline) {
  const { status, running } = pipeline;
  if (running && (status === 'succeeded' || status === 'pending')) return 'started';
  return status === 'archived' ? 'pending' : status;
}

const word = (status) => WORDS[status] ?? status;

/** What a card depends on: a card of an equal text need not be drawn again. */
export function signature(pipeline, rights) {
  const { team, name, status, running, since, jobs, ranks, failing, exposed, star, by, varsText, members } = pipeline;
  const inner = members?.map((member) => memberCell(member) + member.id).join('');
  return [team, name, status, running, since, jobs, ranks, failing, exposed, star, by, varsText, inner, rights].join('\n');
}

/**
 * Draws a card.
 * @param {Pipeline} pipeline
 * @param {number} rights 1: may pause, 2: may change; none: may only look
 * @param {{ name?: string }} [shown] the title, if it is not the name
 */
export function card(pipeline, rights, shown = {}) {
  const status = shownStatus(pipeline);
  const classes = ['card', `s-${status}`, pipeline.members && 'card-stack', pipeline.archived && 'is-archived',
    pipeline.running && status !== 'started' && 'is-running'];
  return make('article', { class: classes.filter(Boolean).join(' '), ...marksOf(pipeline) },
    !pipeline.archived && make('span', { class: pipeline.running ? 'card-band pulse' : 'card-band' }),
    make('div', { class: 'card-head' }, title(pipeline, shown.name), ...marks(pipeline)),
    make('div', { class: 'card-jobs' }, jobs(pipeline, ROOM.card)),
    make('div', { class: 'card-foot' }, ...state(pipeline), make('div', { class: 'card-tools' }, ...tools(pipeline, rights))));
}

/** Returns the names by which tests, Concourse's among them, find a pipeline. */
const marksOf = ({ key, team, name }) => ({ 'data-key': key, 'data-team-name': team, 'data-pipeline-name': name });

function title(pipeline, name = pipeline.name) {
  const link = make('a', { href: pipeline.href, title: name }, name);
  return make('h3', { class: 'cut' }, link);
}

function marks(pipeline) {
  const { members, varsText, failing } = pipeline;
  const checks = failing > 1 ? `${failing} checks` : 'check';
  return [
    members && make('span', { class: 'chip', title: `${members.length} instances` }, icon('i-stack', 'icon icon-12'), members.length),
    varsText && make('span', { class: 'chip mono cut', title: varsText }, varsText),
    make('span', { class: 'grow' }),
    failing > 0 && make('span', { class: 'chip chip-s s-errored', title: failing > 1 ? `${failing} checks fail` : 'A check fails' },
      icon('i-check-mark', 'icon icon-12'), make('span', { class: 'not-phone' }, checks)),
  ];
}

function state(pipeline) {
  const { by, status, since, archived, pausedAt } = pipeline;
  const own = shownStatus(pipeline);
  if (archived) return [make('span', { class: 'faint' }, icon('i-archive', 'icon icon-14')), make('span', { class: 'faint' }, 'archived'), age(since, '')];
  const running = pipeline.running && own !== 'started' ? make('svg', { class: 'glyph s-started glyph-14', role: 'img', 'aria-label': 'running' },
    make('title', {}, 'running'), make('use', { href: '#g-started' })) : null;
  const said = by ? `paused by ${by}` : word(own);
  const from = status === 'paused' && pausedAt ? pausedAt : since;
  return [glyph(own), make('span', { class: 'word status-word cut' }, said), age(from, own === 'pending' ? 'never ran' : ''), running];
}

function age(since, otherwise) {
  return make('span', { class: 'since', 'data-at': since || null }, since ? ageText(now() - since) : otherwise);
}

/** Returns the buttons of a card. What the viewer may not do is left out. */
function tools(pipeline, rights) {
  const { paused, exposed, star, members, archived } = pipeline;
  const button = (act, id, label, classes = '') => make('button', { type: 'button', class: `icon-btn icon-btn-24 ${classes}`,
    'data-do': act, 'aria-label': label, title: label }, icon(id, 'icon icon-14'));
  return [
    rights & 1 && !members && !archived && (paused ? button('pause', 'i-play', 'Unpause') : button('pause', 'i-pause', 'Pause')),
    rights & 2 && !members && !archived && (exposed ? button('expose', 'i-eye', 'Hide from others') : button('expose', 'i-eye-off', 'Expose to others')),
    star ? button('star', 'i-star', 'Remove from favourites', 'star-on') : button('star', 'i-star', 'Add to favourites'),
  ];
}

/** Draws the cells of jobs, or of instances: a path for each status, since thousands of cells are on the page. */
function jobs(pipeline, room) {
  const { members } = pipeline;
  const cells = cellsOf(pipeline);
  if (cells.length === 0) return null;
  const placed = placedIn(pipeline, cells.length, room);
  if (!placed) return shares(cells, room);
  const { width, height, wire } = placed;
  const shown = make('svg', { class: 'cells', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': summary(cells) });
  if (wire && !members) shown.append(make('path', { class: 'wire', d: wire }));
  for (const status of AREAS) {
    const own = placed.cells.filter(({ at }) => cells[at] === status);
    if (own.length) shown.append(...shapes(status, own, placed.size));
  }
  if (members && members.length <= MAX_LINKS) {
    addLinks(shown, placed, (at) => ({ href: members[at].href, text: `${members[at].varsText || members[at].name}: ${word(cells[at])}` }));
  }
  return shown;
}

const cellsOf = ({ members, jobs: digits }) => (members ? members.map(memberCell) : [...digits].map(cellOf));

function placedIn({ members, ranks }, count, room) {
  return room === ROOM.list ? placeRow(count, room) : placeCells(count, members ? '' : ranks, room);
}

/** Draws all cells of a status: what is filled, and what is a line. */
function shapes(status, places, size) {
  const drawn = SHAPES[status].map((draw, at) => {
    const d = draw ? places.map(({ x, y }) => draw(x, y, size)).join('') : '';
    return d && make('path', { class: `s-${status} ${at ? 'cell-line' : 'cell-fill'}${status === 'started' && !at ? ' pulse' : ''}`, d });
  });
  return drawn.filter(Boolean).reverse();
}

/** Lays links over cells. */
function addLinks(shown, { cells, size }, link) {
  shown.setAttribute('role', 'group');
  for (const { x, y, at } of cells) {
    const { href, text } = link(at);
    shown.append(make('svg:a', { href, tabindex: '-1' }, make('title', {}, text), make('rect', { class: 'cell-link', x, y, width: size, height: size })));
  }
}

/** Draws the shares of statuses as one bar: there are more jobs than room. */
function shares(cells, { width }) {
  const shown = make('svg', { class: 'cells', width, height: 12, role: 'img', 'aria-label': summary(cells) });
  let x = 0;
  for (const status of AREAS) {
    const count = cells.filter((cell) => cell === status).length;
    if (!count) continue;
    const share = Math.max(3, (count / cells.length) * (width - 3 * AREAS.length));
    shown.append(make('rect', { class: `s-${status} cell-fill`, x, y: 0, width: share, height: 12 }));
    x += share + 1;
  }
  return shown;
}

/** Says the cells in words: `12 jobs: 10 succeeded, 1 failed, 1 running`. */
function summary(cells) {
  const counted = AREAS.map((status) => [cells.filter((cell) => cell === status).length, word(status)]).filter(([count]) => count);
  return `${cells.length} ${cells.length === 1 ? 'job' : 'jobs'}: ${counted.map(([count, status]) => `${count} ${status}`).join(', ')}`;
}

/**
 * Makes links of the cells of a card, once the names of its jobs are known.
 * @param {Element} drawn the card
 * @param {Pipeline} pipeline
 * @param {{ name: string, build: string | null }[]} named
 * @param {(job: { name: string, build: string | null }) => string} url
 */
export function nameCells(drawn, pipeline, named, url) {
  const shown = drawn.querySelector('.cells');
  const count = pipeline.jobs.length;
  const placed = placedIn(pipeline, count, drawn.matches('.card') ? ROOM.card : ROOM.list);
  if (!shown || !placed || named.length !== count || count > MAX_LINKS || shown.querySelector('a')) return;
  addLinks(shown, placed, (at) => {
    const { latest, activity, paused } = jobState(pipeline.jobs[at]);
    const said = [latest === 'none' ? 'never finished' : latest, activity && word(activity), paused && 'paused'];
    return { href: url(named[at]), text: `${named[at].name}: ${said.filter(Boolean).join(', ')}` };
  });
}

/** Draws a row of the list. */
export function row(pipeline, rights) {
  const status = shownStatus(pipeline);
  return make('article', { class: `dash-row s-${status}${pipeline.archived ? ' is-archived' : ''}`, ...marksOf(pipeline) },
    make('span', { class: 'dash-name' }, pipeline.archived ? icon('i-archive', 'icon icon-14') : glyph(status), title(pipeline), ...marks(pipeline)),
    make('span', { class: 'dash-cells not-phone' }, jobs(pipeline, ROOM.list)),
    make('span', { class: 'dash-word cut' }, make('span', { class: `status-word s-${pipeline.archived ? 'pending' : pipeline.status}` }, pipeline.archived ? 'archived' : word(pipeline.status)),
      pipeline.by && ` by ${pipeline.by}`),
    make('span', { class: 'dash-running not-phone' }, pipeline.running && glyph('started'), pipeline.running && 'running'),
    make('span', { class: 'num since', 'data-at': pipeline.since || null }, pipeline.since ? ageText(now() - pipeline.since) : ''),
    make('span', { class: 'card-tools' }, ...tools(pipeline, rights)));
}

/** Draws a dense label. */
export function label(pipeline) {
  const status = shownStatus(pipeline);
  const text = pipeline.members ? `${pipeline.name} · ${pipeline.members.length}` : [pipeline.name, pipeline.varsText].filter(Boolean).join(' ');
  return make('a', { class: `s-${status}`, href: pipeline.href, title: `${text}: ${word(pipeline.status)}`, ...marksOf(pipeline) },
    glyph(status, 'glyph-12'), make('span', { class: 'cut' }, text), make('span', { class: 'hidden-text' }, word(pipeline.status)));
}

/** Writes the ages of what is drawn. */
export function writeAges(root) {
  const at = now();
  for (const element of root.querySelectorAll('[data-at]')) {
    const text = ageText(at - Number(element.getAttribute('data-at')));
    if (element.textContent !== text) element.textContent = text;
  }
}
