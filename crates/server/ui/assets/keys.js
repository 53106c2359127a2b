// Single keys: never while one types, all of them in the dialog of `?` and in the palette, and off if
// the user turns them off.
import { iconButton, keep, kept, make } from './dom.js';

/**
 * A key of a page. `key` is as the browser names it, or two of them: `g d`. `shown` is what the
 * dialog shows instead. A key without `run` is only listed.
 * @typedef {{ key: string, text?: string, run?: (event?: KeyboardEvent) => void, shown?: string[], section?: string }} PageKey
 */

/** @type {PageKey[]} */
const keys = [];
/** First half of a key of two, and when it ends. */
let pending = '';
let pendingTimer = 0;

/**
 * Registers keys of this page. A key that is registered again gets the newer meaning.
 * @param {PageKey[]} more
 */
export function registerKeys(more) {
  for (const entry of more) {
    const old = keys.findIndex((known) => known.key === entry.key);
    if (old >= 0) keys.splice(old, 1);
    keys.push({ section: 'This page', ...entry });
  }
}

/** Returns the keys that have a text, for the palette. A key without one is another's other half. */
export function listKeys() {
  return keys.filter((entry) => entry.text);
}

const areOn = () => kept('keys', true);

/** Returns true if the element takes the keys that are typed. */
export function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
    !(target instanceof HTMLInputElement && /^(checkbox|radio|button)$/.test(target.type));
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isTyping(event.target) || document.querySelector('dialog[open]') || !areOn()) return;
  const pressed = pending ? `${pending} ${event.key}` : event.key;
  const found = keys.find((entry) => entry.key === pressed && entry.run) ?? keys.find((entry) => entry.key === event.key && entry.run);
  pending = '';
  if (found?.run) {
    event.preventDefault();
    found.run(event);
  } else if (keys.some((entry) => entry.key.startsWith(`${event.key} `))) {
    pending = event.key;
    clearTimeout(pendingTimer);
    pendingTimer = setTimeout(() => (pending = ''), 1200);
  }
});

const NAMES = { ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→', Enter: '↵', Escape: 'esc' };

/** Returns the caps of a key, one `kbd` each. */
export function caps(entry) {
  const shown = entry.shown ?? entry.key.split(' ').map((key) => NAMES[key] ?? key);
  return shown.map((cap) => make('kbd', {}, cap));
}

/** Opens the dialog that lists the keys. */
export function showKeys() {
  const sections = Map.groupBy ? Map.groupBy(listKeys(), (entry) => entry.section) : grouped();
  const lists = [...sections].map(([title, entries]) => make('section', {}, make('h3', {}, title),
    make('ul', {}, ...entries.map((entry) => make('li', {}, entry.text, make('span', {}, ...caps(entry)))))));
  const on = make('input', { type: 'checkbox', class: 'toggle', checked: areOn() });
  on.addEventListener('change', () => keep('keys', on.checked));
  const dialog = make('dialog', { class: 'float keys', 'aria-label': 'Keys' },
    make('div', { class: 'panel-head' }, make('h2', { class: 'h-14' }, 'Keys'), make('span', { class: 'grow' }),
      make('label', { class: 'tick' }, on, 'Single keys'),
      iconButton('i-x', 'Close', { click: () => dialog.close() })),
    make('div', { class: 'keys-body' }, ...lists),
    make('div', { class: 'palette-foot' }, 'Keys never act while you type. All of them are in the palette.'));
  openDialog(dialog);
}

function grouped() {
  const sections = new Map();
  for (const entry of listKeys()) sections.set(entry.section, [...(sections.get(entry.section) ?? []), entry]);
  return sections;
}

/** Opens a dialog that ends with a click beside it, and leaves the page when it closes. */
export function openDialog(dialog) {
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
