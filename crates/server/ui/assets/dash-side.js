// The lists of the side bar: favourites, then teams with their pipelines.
import { glyph, icon, keep, kept, make } from './dom.js';
import { gather } from './dash-data.js';
import { shownStatus } from './dash-cards.js';
import { stars } from './stars.js';

/** Pipelines of a team that are listed before "more" is pressed, and after. */
const SHOWN = 8;
const SHOWN_MORE = 100;
/** Teams whose lists are open until the user closes one: more would hide the others. */
const OPEN = 6;
/** Teams of which the user asked for more. @type {Set<string>} */
const more = new Set();

/** Draws favourites on any page; without data they have no status. */
export function drawFavourites(place, find = () => null) {
  const rows = stars().slice(0, SHOWN * 3).map((star) => {
    const pipeline = find(star.key);
    const shown = pipeline ?? star;
    return row(shown.href, shown.name, pipeline, pipeline ? pipeline.varsText : star.vars, pipeline?.members?.length);
  });
  if (rows.length) place.append(make('section', {}, make('h2', {}, 'Favourites'), make('ul', {}, ...rows)));
}

function row(href, name, pipeline, vars, count) {
  const sign = pipeline ? (pipeline.archived ? icon('i-archive', 'icon icon-14') : glyph(shownStatus(pipeline))) : icon('i-star', 'icon icon-14');
  return make('li', { class: pipeline?.paused ? 'is-paused' : null }, make('a', { href }, sign, make('span', { class: 'cut', title: name }, name),
    vars && make('span', { class: 'chip mono cut', title: vars }, vars), count && make('span', { class: 'count' }, count)));
}

/**
 * Draws the side bar's lists.
 * @param {Element} place
 * @param {import('./dash-data.js').Pipeline[]} pipelines not archived
 * @param {(key: string) => any} find
 */
export function drawSide(place, pipelines, find) {
  const parts = document.createElement('div');
  drawFavourites(parts, find);
  const teams = new Map();
  for (const pipeline of pipelines) {
    if (!teams.has(pipeline.team)) teams.set(pipeline.team, []);
    teams.get(pipeline.team).push(pipeline);
  }
  const chosen = kept('side-teams', {});
  for (const [at, [team, all]] of [...teams].entries()) {
    parts.append(section(team, all, chosen[team] ?? at < OPEN));
  }
  return parts;
}

function section(team, all, open) {
  const entries = gather(all);
  const head = make('h2', {}, make('button', { type: 'button', class: 'side-team', 'aria-expanded': String(open), 'data-team': team },
    icon(open ? 'i-down' : 'i-right', 'icon icon-12'), make('span', { class: 'cut' }, team), make('span', { class: 'count' }, all.length)));
  if (!open) return make('section', { 'data-key': team }, head);
  const limit = more.has(team) ? SHOWN_MORE : SHOWN;
  const rows = entries.slice(0, limit).map((entry) => row(entry.href, entry.name, entry, entry.varsText, entry.members?.length));
  const rest = entries.length - rows.length;
  if (rest > 0) {
    rows.push(make('li', { class: 'more' }, more.has(team)
      ? make('a', { href: `/?${new URLSearchParams({ search: `team:"${team}"` })}` }, `${rest} more`)
      : make('button', { type: 'button', 'data-more': team }, `${rest} more`)));
  }
  return make('section', { 'data-key': team }, head, make('ul', {}, ...rows));
}

/** Opens and closes teams; `draw` draws the lists again. */
export function listenToSide(place, draw) {
  place.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('button') : null;
    const { team, more: wanted } = button?.dataset ?? {};
    if (wanted) more.add(wanted);
    else if (team) keep('side-teams', { ...kept('side-teams', {}), [team]: button?.getAttribute('aria-expanded') !== 'true' });
    else return;
    draw();
  });
}
