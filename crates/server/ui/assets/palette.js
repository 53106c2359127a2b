// The palette: go to any pipeline, job or resource, or do what this page can do. It is loaded when it
// is first opened; what it finds comes from the server, as far as the viewer may see it.
import { icon, keep, kept, make } from './dom.js';
import { caps, listKeys, openDialog } from './keys.js';
import { fuzzy } from './search.js';

/** @typedef {{ text: string, hint?: string, href?: string, run?: () => void, symbol?: string, status?: string, caps?: Node[] }} Entry */

const MAX_RECENT = 8;
const MAX_SHOWN = 40;
/** Time in milliseconds between two keys after which the server is asked. */
const TYPING_MS = 120;

const PAGES = [
  { text: 'Dashboard', href: '/', symbol: 'i-grid' },
  { text: 'Builds', href: '/airside/builds', symbol: 'i-list' },
  { text: 'Workers', href: '/airside/workers', symbol: 'i-server' },
];

/** Opens the palette. */
export function open() {
  if (document.querySelector('dialog.palette')) return;
  const input = make('input', { autocomplete: 'off', spellcheck: 'false', role: 'combobox', 'aria-expanded': 'true',
    'aria-controls': 'palette-list', 'aria-autocomplete': 'list' });
  const list = make('div', { id: 'palette-list', role: 'listbox', 'aria-label': 'Results', class: 'palette-list' });
  const count = make('span', { class: 'not-phone', role: 'status' });
  const dialog = make('dialog', { class: 'float palette', 'aria-label': 'Go to anything' },
    make('label', { class: 'palette-find' }, icon('i-search', 'icon icon-20'),
      make('span', { class: 'hidden-text' }, 'Go to or do'), input, make('kbd', {}, 'esc')),
    list, foot(count));
  const state = { input, list, count, dialog, at: 0, found: /** @type {[string, Entry[]][]} */ ([]), asked: '' };
  let timer = 0;
  input.addEventListener('input', () => {
    draw(state);
    clearTimeout(timer);
    timer = setTimeout(() => ask(state), TYPING_MS);
  });
  dialog.addEventListener('keydown', (event) => press(state, event));
  openDialog(dialog);
  draw(state);
}

function foot(count) {
  const hint = (caps, text) => make('span', {}, ...caps.map((cap) => make('kbd', {}, cap)), text);
  return make('div', { class: 'palette-foot' }, hint(['↑', '↓'], 'choose'), hint(['↵'], 'open'),
    hint(['>'], 'only actions'), make('span', { class: 'grow' }), count);
}

/** Asks the server for what has the words in its name. A later question makes an earlier answer void. */
async function ask(state) {
  const wanted = state.input.value.trim();
  state.asked = wanted;
  if (!wanted || wanted.startsWith('>')) return;
  const response = await fetch(`/airside/v1/go?${new URLSearchParams({ q: wanted })}`).catch(() => null);
  if (!response?.ok || state.asked !== wanted) return;
  const { pipelines = [], jobs = [], resources = [] } = await response.json();
  const entry = (symbol) => ([text, hint, href, status]) => ({ text, hint, href, status, symbol });
  state.found = [
    ['Pipelines', pipelines.map(entry('i-graph'))],
    ['Jobs', jobs.map(entry('i-play'))],
    ['Resources', resources.map(entry('i-bucket'))],
  ];
  draw(state);
}

/** Returns what this page can do: its keys, and its buttons. @returns {Entry[]} */
function actions() {
  const keys = listKeys().filter((entry) => entry.run && entry.key !== '/').map((entry) => ({
    text: entry.text, hint: entry.section, run: () => entry.run?.(), caps: caps(entry), symbol: 'i-bolt',
  }));
  const buttons = [...document.querySelectorAll('main button[data-act="send"]:not([disabled]), .top [data-act="theme"]')];
  const named = buttons.slice(0, 30).map((button) => ({
    text: button.getAttribute('data-palette') ?? button.getAttribute('aria-label') ?? button.textContent?.trim() ?? '',
    run: () => /** @type {HTMLElement} */ (button).click(), symbol: 'i-bolt',
  }));
  return [...named, ...keys].filter((entry) => entry.text);
}

function sections(state) {
  const typed = state.input.value.trim();
  const onlyActions = typed.startsWith('>');
  const words = typed.replace(/^>\s*/, '');
  const fits = (entry) => !words || fuzzy(words, entry.text);
  const doing = ['Do, on this page', actions().filter(fits)];
  if (onlyActions) return [doing];
  const recent = kept('recent', []).filter((entry) => fits(entry));
  const asked = state.asked && words ? state.found.map(([title, entries]) => [title, entries.filter(fits)]) : [];
  return [['Recent', recent.slice(0, words ? 4 : MAX_RECENT)], ...asked, ['Pages', PAGES.filter(fits)], doing];
}

function draw(state) {
  const shown = [];
  const parts = [];
  for (const [title, entries] of sections(state)) {
    const rows = entries.slice(0, MAX_SHOWN - shown.length).map((entry) => {
      shown.push(entry);
      return row(state, entry, shown.length - 1);
    });
    if (rows.length) parts.push(make('h3', { 'aria-hidden': 'true' }, title), make('ul', { role: 'group', 'aria-label': title }, ...rows));
  }
  state.shown = shown;
  state.list.replaceChildren(...parts);
  state.count.textContent = shown.length ? `${shown.length} shown` : 'Nothing has these words';
  choose(state, 0);
}

function row(state, entry, index) {
  const sign = entry.status ? icon(`g-${entry.status}`, `glyph s-${entry.status}`) : icon(entry.symbol ?? 'i-right');
  return make('li', { role: 'option', id: `palette-${index}`, 'aria-selected': 'false',
    click: (event) => go(state, entry, event.ctrlKey || event.metaKey),
    mousemove: () => state.at !== index && choose(state, index) },
  sign, make('span', { class: 'cut' }, ...marked(entry.text, state.input.value)),
  make('span', { class: 'faint cut' }, entry.hint ?? ''), make('span', { class: 'grow' }), ...(entry.caps ?? []));
}

/** Marks the words in a text where they stand as they were typed. */
function marked(text, typed) {
  const words = typed.replace(/^>/, '').trim();
  const at = words ? text.toLowerCase().indexOf(words.toLowerCase()) : -1;
  if (at < 0) return [text];
  const end = at + words.length;
  return [text.slice(0, at), make('mark', {}, text.slice(at, end)), text.slice(end)];
}

function choose(state, index) {
  const count = state.shown.length;
  state.at = count ? (index + count) % count : 0;
  for (const option of state.list.querySelectorAll('[role=option]')) {
    const at = option.id === `palette-${state.at}`;
    option.setAttribute('aria-selected', String(at));
    if (at) option.scrollIntoView({ block: 'nearest' });
  }
  state.input.setAttribute('aria-activedescendant', count ? `palette-${state.at}` : '');
}

function press(state, event) {
  if (event.key === 'ArrowDown' || (event.key === 'Tab' && !event.shiftKey)) choose(state, state.at + 1);
  else if (event.key === 'ArrowUp' || event.key === 'Tab') choose(state, state.at - 1);
  else if (event.key === 'Enter' && state.shown[state.at]) go(state, state.shown[state.at], event.ctrlKey || event.metaKey);
  else return;
  event.preventDefault();
}

function go(state, entry, inTab) {
  if (entry.href && entry.symbol !== 'i-grid') {
    const { text, hint, href, symbol } = entry;
    const others = kept('recent', []).filter((old) => old.href !== href);
    keep('recent', [{ text, hint, href, symbol }, ...others].slice(0, MAX_RECENT));
  }
  state.dialog.close();
  if (entry.run) entry.run();
  else if (inTab) globalThis.open(entry.href, '_blank', 'noopener');
  else location.assign(entry.href);
}
