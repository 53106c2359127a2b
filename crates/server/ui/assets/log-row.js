// One line of output as an element: number, time, and text with colours, links and marks. Text stays
// text, whatever it contains.
import { make } from './dom.js';
import { paint } from './log-colour.js';

const ADDRESS = /https?:\/\/[^\s<>"'`\\]+/g;
const ENDS = /[.,;:!?)\]}]+$/;

/** Times of lines, in the order in which the key `t` goes through them. */
export const TIME_MODES = ['Clock', 'Since step', 'Since build', 'Between lines', 'No times'];

/**
 * Makes the element of a line.
 * @param {{ step: string, number: number, row: any[], before?: any[], first?: number, began?: number, mode: string, hits?: number[][], at?: number, isMarked: boolean, dark: boolean }} line
 */
export function drawLine({ step, number, row, before, first, began, mode, hits, at = -1, isMarked, dark }) {
  const [ms, spans, cut] = row;
  const id = `L${step}:${number}`;
  const text = make('span', {}, ...pieces(spans, hits ?? [], at, dark));
  if (cut) text.append(make('span', { class: 'faint' }, ` … ${cut.toLocaleString()} more characters: see the raw text`));
  const time = timeText(mode, ms, before?.[0], first, began);
  return make('div', { class: isMarked ? 'line is-marked' : 'line', id, 'data-number': number },
    make('a', { href: `#${id}`, tabindex: -1 }, number),
    time === null ? null : make('time', { datetime: ms > 0 && new Date(ms).toISOString() }, time), text);
}

function timeText(mode, ms, before, first, began) {
  if (mode === 'No times') return null;
  if (!(ms > 0)) return '';
  if (mode === 'Since step') return elapsed(ms - (first ?? ms));
  if (mode === 'Since build') return elapsed(ms - (began ?? ms));
  if (mode === 'Between lines') return before && ms > before ? `+${elapsed(ms - before)}` : '';
  const at = new Date(ms);
  return [at.getHours(), at.getMinutes(), at.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':');
}

function elapsed(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (part) => String(part).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

/** Cuts the spans of a line where addresses and hits begin and end. */
function pieces(spans, hits, at, dark) {
  const drawn = [];
  let from = 0;
  for (const [text, style] of spans) {
    const links = style?.l ? [[0, text.length, style.l]] : addresses(text);
    const cuts = new Set([0, text.length]);
    for (const [start, end] of links) cuts.add(start).add(end);
    for (const [start, length] of hits) {
      for (const edge of [start - from, start + length - from]) if (edge > 0 && edge < text.length) cuts.add(edge);
    }
    const edges = [...cuts].sort((a, b) => a - b);
    for (let index = 1; index < edges.length; index++) {
      const [start, end] = [edges[index - 1], edges[index]];
      const link = links.find(([first, last]) => first <= start && end <= last);
      const hit = hits.findIndex(([first, length]) => first - from <= start && end <= first + length - from);
      drawn.push(piece(text.slice(start, end), style, link?.[2], hit >= 0, hit === at && at >= 0, dark));
    }
    from += text.length;
  }
  return drawn;
}

function addresses(text) {
  if (!text.includes('://')) return [];
  return [...text.matchAll(ADDRESS)].map((found) => {
    const address = found[0].replace(ENDS, '');
    return [found.index, found.index + address.length, address];
  });
}

function piece(text, style, address, isHit, isAt, dark) {
  let drawn = document.createTextNode(text);
  if (isHit) drawn = make('mark', { class: isAt && 'is-at' }, drawn);
  if (address && isSafe(address)) {
    drawn = make('a', { class: 'out', href: address, target: '_blank', rel: 'noopener noreferrer' }, drawn);
  }
  return style ? paint(make('span', {}, drawn), style, dark) : drawn;
}

function isSafe(address) {
  try {
    return /^https?:$/.test(new URL(address).protocol);
  } catch {
    return false;
  }
}
