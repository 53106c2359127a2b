// The output of one step: a part of its lines is drawn, around what one sees of it. The rest is room
// above and below, so that a hundred megabytes cost what a screen costs.
import { toast } from './actions.js';
import { icon, iconButton, make } from './dom.js';
import { Lines } from './log-lines.js';
import { drawLine } from './log-row.js';

/** Height of a line, and lines drawn beyond what one sees, on either side. */
const LINE = 18;
const SPARE = 40;
/** The largest height that all browsers keep. Above it a pixel stands for more than one. */
const MAX_HEIGHT = 15_000_000;
/** Outputs of fewer lines have no head, and are copied whole. */
const HEAD_FROM = 12;
const MAX_COPIED = 50_000;

export class LogView {
  /** Lines that the address marks: from, to. @type {[number, number] | null} */
  marked = null;
  /** Hits of the search by their line. @type {Map<number, number[][]>} */
  hits = new Map();
  /** Line and place in it of the hit at hand. @type {[number, number] | null} */
  at = null;
  /** Height of a line. Of wrapped lines it is the mean of those that were drawn first. */
  line = LINE;
  isMeasured = false;
  drawn = '';
  seen = 0;
  busy = false;
  again = false;

  /**
   * @param {HTMLElement} element the `.log` of a step
   * @param {{ build: string, began: number, mode: string, wrap: boolean, dark: boolean, isRunning: boolean }} page
   */
  constructor(element, page) {
    this.element = element;
    this.page = page;
    this.step = element.dataset.logStep ?? '';
    this.lines = new Lines(page.build, this.step);
    this.inner = make('div', { class: 'lines-in', role: 'log', 'aria-label': 'Output', 'aria-live': 'off', tabindex: 0 });
    this.box = make('div', { class: 'lines' }, this.inner);
    this.count = make('span', {});
    this.note = make('span', { class: 'cut grow' });
    this.head = make('div', { class: 'log-head', hidden: true }, this.count, this.note,
      iconButton('i-copy', 'Copy output', { click: () => this.copy() }),
      make('a', { class: 'icon-btn', href: this.raw(), 'aria-label': 'Raw text', title: 'Raw text' }, icon('i-download', 'icon icon-14')));
    this.more = make('button', { class: 'btn log-more', type: 'button', hidden: true });
    this.empty = make('p', { class: 'caption log-empty', role: 'status' }, 'Loading …');
    element.replaceChildren(this.head, this.box, this.empty, this.more);
  }

  raw() {
    return `/airside/v1/builds/${this.page.build}/log.txt?step=${encodeURIComponent(this.step)}`;
  }

  /** Loads what is there. A step that runs begins at its end. */
  async open() {
    if (this.page.isRunning && !this.marked) await this.lines.tail();
    else await this.lines.refresh();
    this.changed();
  }

  /** Looks for further lines. Calls during a look are joined to one. */
  async poke() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    do {
      this.again = false;
      await this.lines.refresh();
      this.changed();
    } while (this.again);
    this.busy = false;
  }

  /** Looks for further lines if there seem to be any. Returns true if it did. */
  async glance() {
    if (this.busy || this.lines.ended || !(await this.lines.peek())) return false;
    await this.poke();
    return true;
  }

  changed() {
    const { total, ended, removed, trouble } = this.lines;
    this.head.hidden = total < HEAD_FROM;
    this.count.textContent = total === 1 ? '1 line' : `${total.toLocaleString('en')} lines`;
    this.box.hidden = total === 0;
    const words = ended ? '' : 'No output yet.';
    this.empty.textContent = trouble || (removed ? 'The output was removed.' : total === 0 ? words : '');
    this.empty.hidden = this.empty.textContent === '';
    this.element.classList.toggle('is-empty', total === 0 && this.empty.hidden);
    this.drawn = '';
    this.draw();
  }

  /** Pixels that all lines take, and the lines that one pixel stands for. */
  measure() {
    const whole = this.lines.total * this.line;
    const height = Math.min(whole, MAX_HEIGHT);
    return { height, perPixel: whole / Math.max(1, height) };
  }

  /** Draws the lines that one sees, and fetches those that are missing. */
  async draw() {
    const { total } = this.lines;
    if (total === 0 || !this.element.isConnected) return;
    const { height, perPixel } = this.measure();
    const top = this.inner.getBoundingClientRect().top;
    const above = Math.min(Math.max(0, -top), height);
    if (top > innerHeight * 2 || top + height < -innerHeight) return;
    const offset = above * perPixel;
    const seen = Math.ceil(innerHeight / this.line);
    const first = Math.max(1, Math.min(Math.floor(offset / this.line) + 1 - SPARE, total - seen - SPARE));
    const last = Math.min(total, Math.floor(offset / this.line) + 1 + seen + SPARE);
    this.place(first, above - offset, height);
    const state = `${first} ${last} ${total} ${this.lines.settled}`;
    if (state === this.drawn) return;
    if (!this.lines.has(first, last)) {
      await this.lines.need(first, last);
      if (!this.lines.has(first, Math.min(last, this.lines.total))) return;
      return this.draw();
    }
    this.drawn = state;
    this.fill(first, last);
  }

  /** Puts the drawn lines where they belong; `shift` is what scaling takes off. */
  place(first, shift, height) {
    const room = Math.max(0, (first - 1) * this.line + shift);
    this.inner.style.setProperty('padding-top', `${Math.min(room, height)}px`);
    this.inner.style.setProperty('min-height', `${height}px`);
  }

  fill(first, last) {
    const { mode, dark, began } = this.page;
    const start = this.lines.row(1)?.[0] ?? this.start;
    this.start = start;
    const rows = [];
    for (let number = first; number <= last; number++) {
      const row = this.lines.row(number);
      if (!row) break;
      rows.push(drawLine({
        step: this.step, number, row, before: this.lines.row(number - 1), first: start, began, mode, dark,
        hits: this.hits.get(number), at: this.at?.[0] === number ? this.at[1] : -1,
        isMarked: this.marked !== null && number >= this.marked[0] && number <= this.marked[1],
      }));
    }
    this.inner.replaceChildren(...rows);
    if (this.page.wrap && !this.isMeasured) this.measureLines(rows);
  }

  measureLines(rows) {
    this.isMeasured = true;
    const [top, bottom] = [rows[0]?.getBoundingClientRect().top ?? 0, rows.at(-1)?.getBoundingClientRect().bottom ?? 0];
    this.line = Math.max(LINE, (bottom - top) / Math.max(1, rows.length));
    this.redraw();
  }

  redraw() {
    this.drawn = '';
    return this.draw();
  }

  /** Draws lines as wide as they are, or wrapped. */
  rewrap() {
    this.line = LINE;
    this.isMeasured = false;
    this.redraw();
  }

  /** Marks lines, as an address says. */
  mark(range) {
    this.marked = range;
    this.note.textContent = range ? `Linked: line${range[0] === range[1] ? ` ${range[0]}` : `s ${range[0]} to ${range[1]}`}` : '';
    this.redraw();
  }

  /** Scrolls the page until a line stands in the upper third. */
  async show(number) {
    if (this.lines.total === 0) await this.open();
    const { height, perPixel } = this.measure();
    const down = Math.min(((Math.min(number, this.lines.total) - 1) * this.line) / perPixel, height);
    scrollTo({ top: this.inner.getBoundingClientRect().top + scrollY + down - innerHeight / 3 });
    await this.redraw();
    const drawn = document.getElementById(`L${this.step}:${number}`);
    if (drawn) scrollBy({ top: drawn.getBoundingClientRect().top - innerHeight / 3 });
  }

  /** Returns true if the end of the output is in view. */
  isAtEnd() {
    const { bottom } = this.element.getBoundingClientRect();
    return bottom <= innerHeight + 48;
  }

  scrollToEnd() {
    const { bottom } = this.element.getBoundingClientRect();
    scrollBy({ top: bottom - innerHeight + 40 });
    this.seen = this.lines.total;
    this.draw();
  }

  /** Copies the marked lines, or all, without numbers and times. */
  async copy() {
    const [first, last] = this.marked ?? [1, this.lines.total];
    const to = Math.min(last, first + MAX_COPIED - 1);
    const text = [];
    for (let number = first; number <= to; number++) {
      if (!this.lines.row(number)) await this.lines.need(number, Math.min(to, number + 4000));
      text.push((this.lines.row(number)?.[1] ?? []).map(([part]) => part).join(''));
    }
    try {
      await navigator.clipboard.writeText(`${text.join('\n')}\n`);
      toast(`${text.length.toLocaleString('en')} lines copied`);
    } catch {
      // Pages without TLS may not write to the clipboard.
      toast('This browser does not let the page copy: use the raw text', 'pending');
    }
  }
}
