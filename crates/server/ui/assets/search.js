// The search language of the dashboard: words and `key:value` terms, all of which must hold.
// Pure: no page, no clock. The table of its tests is tests/ui/unit/search.json.

/** Statuses as they are searched; `running` beside the others. */
export const STATUSES = ['succeeded', 'failed', 'errored', 'aborted', 'pending', 'running', 'paused'];
export const TRAITS = ['paused', 'public', 'archived', 'favourite', 'running', 'checking-fails'];
const KEYS = ['team', 'group', 'status', 'job', 'resource', 'is', 'since', 'by'];
const SECONDS = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };
/** The largest number of terms that count. */
const MAX_TERMS = 32;

/**
 * One term. `how` is `exact` for `"web"`, `prefix` for `"we`, else `fuzzy`.
 * @typedef {{ key: string, text: string, how: 'exact' | 'prefix' | 'fuzzy', not: boolean }} Term
 *
 * A pipeline as it is searched.
 * @typedef {{ id: number, team: string, name: string, values: string[], status: string, since: number,
 *   running: boolean, paused: boolean, archived: boolean, exposed: boolean, star: boolean,
 *   failing: number, by: string, grouped: boolean }} Searched
 *
 * What is known beside the pipelines: the server's time, and which of them have jobs and resources
 * of a name (`job:unit`); null while that is not known.
 * @typedef {{ now: number, having?: (key: string, term: Term) => Set<number> | null }} Around
 */

/** Reads a search. @param {string} text @returns {Term[]} */
export function parse(text) {
  const terms = [];
  const pattern = /(-?)(?:([a-z]+):)?("[^"]*"?|[^\s"]\S*|(?=\s|$))/gi;
  for (const [whole, minus, word = '', value] of text.matchAll(pattern)) {
    if (!whole || terms.length === MAX_TERMS) continue;
    const key = word.toLowerCase();
    // `http://x` is a word that has a colon, not a term of a key that is not known.
    const known = !word || KEYS.includes(key);
    const raw = known ? value : `${word}:${value}`;
    const quoted = raw.startsWith('"');
    const closed = quoted && raw.length > 1 && raw.endsWith('"');
    const plain = quoted ? raw.slice(1, closed ? -1 : undefined) : raw;
    if (!plain) continue;
    const how = closed ? 'exact' : quoted ? 'prefix' : 'fuzzy';
    terms.push({ key: known ? key : '', text: plain.toLowerCase(), how, not: minus === '-' });
  }
  return terms;
}

/** Returns true if the letters of `word` stand in `text` in this order. */
export function fuzzy(word, text) {
  const letters = text.toLowerCase();
  let at = 0;
  for (const letter of word.toLowerCase()) {
    if (letter === ' ') continue;
    at = letters.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

function fits(term, text) {
  const value = text.toLowerCase();
  if (term.how === 'exact') return value === term.text;
  if (term.how === 'prefix') return value.startsWith(term.text);
  return fuzzy(term.text, value);
}

/** Returns true if all terms hold. @param {Term[]} terms @param {Searched} item @param {Around} around */
export function matches(terms, item, around) {
  return terms.every((term) => {
    const holds = TESTS[term.key](term, item, around);
    return holds === null || holds !== term.not;
  });
}

/** A term of which nothing is known yet, or that cannot be read, does not hide anything: null. */
const TESTS = {
  '': (term, item) => fits(term, item.name) || item.values.some((value) => fits(term, value)),
  team: (term, item) => fits(term, item.team),
  group: (term, item) => item.grouped && fits(term, item.name),
  status: (term, item) => (term.text.startsWith('r') ? item.running && 'running'.startsWith(term.text)
    : item.status.startsWith(term.text)),
  job: (term, item, around) => around.having?.('job', term)?.has(item.id) ?? null,
  resource: (term, item, around) => around.having?.('resource', term)?.has(item.id) ?? null,
  is: (term, item) => {
    const trait = TRAITS.find((name) => name.startsWith(term.text));
    return trait ? trait_of(item, trait) : null;
  },
  since: (term, item, around) => {
    const told = /^([<>]?)(\d+(?:\.\d+)?)([smhdw])$/.exec(term.text);
    if (!told || !item.since) return told ? false : null;
    const age = around.now - item.since;
    const limit = Number(told[2]) * SECONDS[told[3]];
    return told[1] === '>' ? age > limit : age <= limit;
  },
  by: (term, item) => item.paused && item.by !== '' && fits(term, item.by),
};

function trait_of(item, trait) {
  if (trait === 'public') return item.exposed;
  if (trait === 'favourite') return item.star;
  if (trait === 'checking-fails') return item.failing > 0;
  return item[trait];
}

/** Returns true if the search asks for archived pipelines, which are left out otherwise. */
export function wantsArchived(terms) {
  return terms.some((term) => term.key === 'is' && !term.not && 'archived'.startsWith(term.text));
}

/**
 * Returns what may come next, as whole searches with the part that is new.
 * @param {string} text
 * @param {{ teams: string[], groups: string[] }} names
 * @returns {{ search: string, shown: string }[]}
 */
export function suggest(text, names) {
  const [, before, minus, last] = /^(.*?)(-?)([^\s]*)$/s.exec(text) ?? ['', '', '', ''];
  const [, key, value] = /^([a-z]+):"?(.*)$/is.exec(last) ?? [];
  const offer = (shown) => ({ search: `${before}${minus}${shown}`, shown: `${minus}${shown}` });
  if (!key) {
    const fitting = KEYS.filter((name) => name.startsWith(last.toLowerCase()));
    return fitting.map((name) => offer(`${name}:`));
  }
  const choices = choicesOf(key.toLowerCase(), names).filter((choice) => choice.toLowerCase().includes(value.toLowerCase()));
  const quoted = (choice) => (key === 'team' || key === 'group' || /\s/.test(choice) ? `"${choice}"` : choice);
  return choices.slice(0, 10).map((choice) => offer(`${key}:${quoted(choice)} `));
}

function choicesOf(key, { teams, groups }) {
  if (key === 'status') return STATUSES;
  if (key === 'is') return TRAITS;
  if (key === 'team') return teams;
  if (key === 'group') return groups;
  if (key === 'since') return ['<1h', '<1d', '>7d'];
  return [];
}
