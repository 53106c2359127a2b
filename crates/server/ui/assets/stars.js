// Favourites, kept by this browser: what is needed to show them on any page.
import { icon, keep, kept, make } from './dom.js';

/** A favourite: its key (`p12`, or `g:team/name` of a group), its name and its address. @typedef {{ key: string, team: string, name: string, vars?: string, href: string }} Star */

const MAX_STARS = 200;

/** @returns {Star[]} */
export function stars() {
  const all = kept('stars', []);
  return Array.isArray(all) ? all.filter((star) => star?.key && star.href?.startsWith('/')) : [];
}

/** Returns the keys of all favourites. */
export function starKeys() {
  return new Set(stars().map((star) => star.key));
}

/** Adds a favourite, or takes it away. @param {Star} star */
export function toggleStar({ key, team, name, vars, href }) {
  const others = stars().filter((star) => star.key !== key);
  const isNew = others.length === stars().length;
  keep('stars', isNew ? [...others, { key, team, name, vars, href }].slice(-MAX_STARS) : others);
  document.dispatchEvent(new CustomEvent('airside:stars'));
  return isNew;
}

/** Buttons with `data-act="star"` and the favourite as JSON in `data-star`. */
export function starButton(button) {
  toggleStar(JSON.parse(button.dataset.star));
  showStars();
}

/** Shows on all such buttons if their pipeline is a favourite. */
export function showStars() {
  const keys = starKeys();
  for (const button of document.querySelectorAll('button[data-star]')) {
    const on = keys.has(JSON.parse(button.getAttribute('data-star') ?? '{}').key);
    button.classList.toggle('star-on', on);
    button.setAttribute('aria-pressed', String(on));
  }
}

/** Draws the favourites in the side bar of a page that knows no more of them. */
export function listStars() {
  const place = document.getElementById('side-lists');
  if (!place || document.getElementById('dashboard-data')) return;
  const rows = stars().map(({ href, name, vars }) => make('li', {}, make('a', { href }, icon('i-star', 'icon icon-14'),
    make('span', { class: 'cut', title: name }, name), vars && make('span', { class: 'chip mono cut', title: vars }, vars))));
  place.replaceChildren(...(rows.length ? [make('section', {}, make('h2', {}, 'Favourites'), make('ul', {}, ...rows))] : []));
}

addEventListener('storage', (event) => {
  if (event.key === 'airside.stars') document.dispatchEvent(new CustomEvent('airside:stars'));
});
