// Sections of equal cells of which only those in view are drawn: thousands cost as much as dozens.
import { make } from './dom.js';
import { morph } from './fragment.js';

/**
 * A section. `entries` are drawn by `draw`; what has an equal `signature` is not drawn again.
 * @typedef {{ key: string, title: string, chip?: string, note?: string, entries: any[] }} Section
 * @typedef {{ list: string, draw: (entry: any, section: Section) => Element, signature: (entry: any, section: Section) => string }} Kind
 */

/** Room in pixels above and below the window in which rows are drawn, too. */
const AROUND = 160;

export class Grid {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    /** @type {Section[]} */
    this.sections = [];
    /** @type {Kind | null} */
    this.kind = null;
    /** @type {Map<string, { element: HTMLElement, list: HTMLElement, head: HTMLElement, cells: Map<string, { element: Element, signature: string }>, said: string }>} */
    this.drawn = new Map();
    this.measure = { columns: 1, row: 0, gap: 0, margin: 0, head: 0 };
    this.frame = 0;
    const later = () => this.later();
    addEventListener('scroll', later, { passive: true });
    new ResizeObserver(() => {
      this.measure.row = 0;
      this.later();
    }).observe(root);
  }

  /** Shows these sections from now on. @param {Section[]} sections @param {Kind} kind */
  show(sections, kind) {
    if (this.kind?.list !== kind.list) {
      this.root.replaceChildren();
      this.drawn.clear();
      this.measure.row = 0;
    }
    this.kind = kind;
    this.sections = sections;
    const wanted = new Set(sections.map((section) => section.key));
    for (const [key, { element }] of this.drawn) {
      if (wanted.has(key)) continue;
      element.remove();
      this.drawn.delete(key);
    }
    sections.forEach((section, at) => {
      const { element } = this.frameOf(section);
      if (this.root.children[at] !== element) this.root.insertBefore(element, this.root.children[at] ?? null);
    });
    this.draw();
  }

  frameOf(section) {
    let found = this.drawn.get(section.key);
    if (!found) {
      const head = make('div', { class: 'section-head' });
      const list = make('div', { class: this.kind?.list });
      const element = make('section', { class: 'section', 'data-section': section.key }, head, list);
      found = { element, list, head, cells: new Map(), said: '' };
      this.drawn.set(section.key, found);
    }
    const said = [section.title, section.chip, section.note].join('\n');
    if (found.said !== said) {
      found.said = said;
      found.head.replaceChildren(make('h2', { class: 'cut' }, section.title), section.chip ? make('span', { class: 'chip chip-line' }, section.chip) : '',
        make('span', { class: 'grow' }), make('span', { class: 'caption' }, section.note ?? ''));
    }
    return found;
  }

  later() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** Reads columns and sizes from the styles, so that these alone decide them. */
  look() {
    const first = this.sections.length ? this.drawn.get(this.sections[0].key) : null;
    if (!first) return false;
    first.element.style.removeProperty('height');
    if (!first.list.isConnected) first.element.replaceChildren(first.head, first.list);
    const style = getComputedStyle(first.list);
    this.measure = {
      columns: Math.max(1, style.gridTemplateColumns.split(' ').length),
      row: Number.parseFloat(style.gridAutoRows) || 132,
      gap: Number.parseFloat(style.rowGap) || 0,
      margin: Number.parseFloat(getComputedStyle(first.element).marginTop) || 0,
      head: first.list.getBoundingClientRect().top - first.element.getBoundingClientRect().top,
    };
    return true;
  }

  /** Returns the places of all sections, from the top of the root. */
  places() {
    const { columns, row, gap, margin, head } = this.measure;
    let top = 0;
    return this.sections.map((section) => {
      const rows = Math.ceil(section.entries.length / columns);
      const list = Math.max(0, rows * (row + gap) - gap);
      const place = { section, top: top + margin, list, rows };
      top += margin + head + list;
      return place;
    });
  }

  draw() {
    if (!this.kind || (this.measure.row === 0 && !this.look())) return;
    const { head, row, gap, columns } = this.measure;
    const above = this.root.getBoundingClientRect().top;
    const [from, to] = [-AROUND - above, innerHeight + AROUND - above];
    for (const { section, top, list, rows } of this.places()) {
      const frame = this.frameOf(section);
      const height = `${head + list}px`;
      if (frame.element.style.height !== height) frame.element.style.height = height;
      if (top + head + list < from || top > to) {
        frame.element.replaceChildren();
        frame.list.replaceChildren();
        frame.cells.clear();
        continue;
      }
      if (!frame.list.isConnected) frame.element.replaceChildren(frame.head, frame.list);
      const first = clamp(Math.floor((from - top - head) / (row + gap)), 0, rows);
      const last = clamp(Math.ceil((to - top - head) / (row + gap)), first, rows);
      frame.list.style.paddingTop = `${first * (row + gap)}px`;
      this.fill(frame, section, section.entries.slice(first * columns, last * columns));
    }
  }

  /** Makes the children of a list those of the entries; elements that are still right stay. */
  fill(frame, section, entries) {
    const kind = /** @type {Kind} */ (this.kind);
    const cells = new Map();
    let next = frame.list.firstElementChild;
    for (const entry of entries) {
      const signature = kind.signature(entry, section);
      const old = frame.cells.get(entry.key);
      const element = old?.element ?? kind.draw(entry, section);
      if (old && old.signature !== signature) morph(element, kind.draw(entry, section));
      cells.set(entry.key, { element, signature });
      if (element === next) next = next.nextElementSibling;
      else frame.list.insertBefore(element, next);
    }
    while (next) {
      const gone = next;
      next = next.nextElementSibling;
      gone.remove();
    }
    frame.cells = cells;
  }

  /** Brings an entry into view and returns its element. */
  reveal(key, at) {
    const place = this.places().find(({ section }) => section.key === key);
    if (!place) return null;
    const { head, row, gap, columns } = this.measure;
    const top = this.root.getBoundingClientRect().top + scrollY + place.top + head + Math.floor(at / columns) * (row + gap);
    const bar = 56;
    if (top - bar < scrollY) scrollTo({ top: top - bar - head });
    else if (top + row > scrollY + innerHeight) scrollTo({ top: top + row + 16 - innerHeight });
    this.draw();
    return this.drawn.get(key)?.cells.get(place.section.entries[at]?.key)?.element ?? null;
  }
}

const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
