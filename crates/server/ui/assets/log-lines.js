// The lines of one step, by windows from the server. A line has a number for good, so whatever comes
// twice or late takes its own place: none is lost and none is doubled.

/** Lines of one window, and the largest number of windows that are kept. */
export const WINDOW = 500;
const MAX_WINDOWS = 24;

export class Lines {
  total = 0;
  settled = 0;
  ended = false;
  removed = false;
  /** Words of an answer that was not one. */
  trouble = '';
  /** @type {Map<number, any[][]>} windows by their place, the one used last at the end */
  windows = new Map();
  /** @type {Map<number, Promise<void>>} */
  coming = new Map();
  /** The last line as it was seen last. */
  end = '';
  /** Number of looks for further lines: what was asked for before the last one is not kept. */
  looks = 0;

  constructor(build, step) {
    this.url = `/airside/v1/builds/${build}/lines?step=${encodeURIComponent(step)}`;
  }

  /** Returns the line of a number, if it is here. */
  row(number) {
    const place = windowOf(number);
    return this.windows.get(place)?.[number - 1 - place * WINDOW];
  }

  /** Returns true if the lines of a range are here. */
  has(first, last) {
    for (let place = windowOf(first); place <= windowOf(last); place++) {
      const wanted = Math.min(last, (place + 1) * WINDOW) - place * WINDOW;
      if ((this.windows.get(place)?.length ?? 0) < wanted) return false;
    }
    return true;
  }

  /** Fetches what is missing of a range. */
  async need(first, last) {
    const places = [];
    for (let place = windowOf(first); place <= windowOf(last); place++) places.push(place);
    for (const place of places) this.touch(place);
    await Promise.all(places.map((place) => this.fetch(place, Math.min(last, (place + 1) * WINDOW))));
  }

  touch(place) {
    const rows = this.windows.get(place);
    if (!rows) return;
    this.windows.delete(place);
    this.windows.set(place, rows);
  }

  /** Fetches one window up to a line; a call during a fetch of the same window joins it. */
  fetch(place, last) {
    const rows = this.windows.get(place);
    if (rows && rows.length >= last - place * WINDOW) return Promise.resolve();
    const coming = this.coming.get(place) ?? this.load(place).finally(() => this.coming.delete(place));
    this.coming.set(place, coming);
    return coming;
  }

  async load(place) {
    const start = place * WINDOW;
    for (;;) {
      const looks = this.looks;
      const rows = this.windows.get(place) ?? [];
      const told = await this.ask(`&from=${start + rows.length + 1}&count=${WINDOW - rows.length}`);
      if (!told) return;
      // What was asked for before another look may have changed by it.
      if (looks !== this.looks) continue;
      rows.push(...told.rows);
      this.keep(place, rows);
      if (told.rows.length === 0 || rows.length >= Math.min(WINDOW, this.total - start)) return;
    }
  }

  keep(place, rows) {
    this.windows.delete(place);
    this.windows.set(place, rows);
    for (const old of this.windows.keys()) {
      if (this.windows.size <= MAX_WINDOWS) break;
      this.windows.delete(old);
    }
  }

  /** Asks how many lines there are now, and forgets those that may have changed since. */
  async refresh() {
    const from = this.settled + 1;
    const place = windowOf(from);
    this.looks += 1;
    const told = await this.ask(`&from=${place * WINDOW + 1}&count=${WINDOW}`);
    if (!told) return;
    for (const known of [...this.windows.keys()]) if (known > place) this.windows.delete(known);
    this.keep(place, told.rows);
  }

  /** Returns true if there is something new. Costs one line. */
  async peek() {
    const before = `${this.total} ${this.ended} ${this.end}`;
    const { total, settled, ended } = this;
    const told = await this.ask('&tail=1');
    if (!told) return false;
    this.end = JSON.stringify(told.rows);
    const isNew = before !== `${this.total} ${this.ended} ${this.end}`;
    if (isNew) Object.assign(this, { total, settled, ended });
    return isNew;
  }

  /** Fetches the end, to know at once how much there is. */
  async tail() {
    const told = await this.ask(`&tail=${WINDOW}`);
    if (!told) return;
    const first = told.from ?? 1;
    // Only a window that is whole from its beginning is kept.
    const place = windowOf(first) + (first % WINDOW === 1 ? 0 : 1);
    const skipped = place * WINDOW + 1 - first;
    if (skipped >= 0 && skipped < told.rows.length) this.keep(place, told.rows.slice(skipped));
  }

  async ask(range) {
    try {
      const response = await fetch(this.url + range, { headers: { Accept: 'application/json' } });
      if (!response.ok) {
        this.trouble = `The output cannot be read (${response.status}).`;
        return null;
      }
      const told = await response.json();
      this.trouble = '';
      this.total = told.total ?? 0;
      this.settled = Math.min(told.settled ?? 0, this.total);
      this.ended = Boolean(told.ended || told.closed);
      this.removed = Boolean(told.removed);
      return { ...told, rows: told.rows ?? [] };
    } catch {
      this.trouble = 'The server does not answer. What is shown stays; the rest comes when it is back.';
      return null;
    }
  }
}

/** Returns the place of the window that has a line. */
function windowOf(number) {
  return Math.floor((number - 1) / WINDOW);
}
