// Find in all output of a build: the server searches, hits come as they are found.
const MAX_HITS = 10_000;

export class Find {
  /** @type {{ step: string, line: number, spans: number[][] }[]} */
  hits = [];
  at = -1;
  running = false;
  /** @type {AbortController | null} */
  asked = null;

  /**
   * @param {string} build
   * @param {() => string[]} order ids of steps as the page has them
   * @param {(find: Find) => void} changed
   */
  constructor(build, order, changed) {
    this.url = `/airside/v1/builds/${build}/find`;
    this.order = order;
    this.changed = changed;
  }

  /** Begins to look for a text; an empty one ends the search. */
  async start(text, { regex, matchCase }) {
    this.asked?.abort();
    Object.assign(this, { hits: [], at: -1, running: text !== '', trouble: '' });
    this.changed(this);
    if (text === '') return;
    const asked = new AbortController();
    this.asked = asked;
    const query = new URLSearchParams({ q: text, ...(regex && { regex: '1' }), ...(matchCase && { case: '1' }) });
    try {
      let after = null;
      do {
        if (after !== null) query.set('after', String(after));
        after = await this.read(`${this.url}?${query}`, asked);
      } while (after !== null && this.hits.length < MAX_HITS && !asked.signal.aborted);
    } catch {
      if (!asked.signal.aborted) this.trouble = 'not searched';
    }
    if (asked.signal.aborted) return;
    this.running = false;
    this.changed(this);
  }

  /** Reads one answer. Returns where to go on, or null at the end. */
  async read(url, asked) {
    const response = await fetch(url, { signal: asked.signal });
    if (!response.ok || !response.body) {
      this.trouble = response.status === 400 ? 'not an expression' : 'not searched';
      return null;
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let [rest, after] = ['', null];
    for (;;) {
      const { value, done } = await reader.read();
      const lines = (rest + (value ?? '')).split('\n');
      rest = done ? '' : lines.pop() ?? '';
      const found = lines.filter(Boolean).map((line) => JSON.parse(line));
      for (const hit of found) {
        if (Array.isArray(hit)) this.hits.push({ step: hit[0], line: hit[1], spans: hit[2] });
        else after = hit.after ?? null;
      }
      if (found.length) this.sort();
      if (done) return after;
    }
  }

  /** Keeps hits in the order of the page, and the one at hand. */
  sort() {
    const here = this.hits[this.at];
    const places = new Map(this.order().map((id, index) => [id, index]));
    const place = (hit) => places.get(hit.step) ?? Infinity;
    this.hits.sort((a, b) => place(a) - place(b) || a.line - b.line);
    if (here) this.at = this.hits.indexOf(here);
    this.changed(this);
  }

  /** Goes to the next hit, or the one before, around the ends. */
  move(by) {
    if (this.hits.length === 0) return null;
    const from = this.at < 0 ? (by > 0 ? -1 : 0) : this.at;
    this.at = (from + by + this.hits.length) % this.hits.length;
    return this.hits[this.at];
  }

  /** Returns the count beside the field. */
  words() {
    if (this.trouble) return this.trouble;
    if (this.hits.length === 0) return this.running ? '…' : this.asked ? 'no hits' : '';
    const more = this.running || this.hits.length >= MAX_HITS ? '+' : '';
    return `${this.at + 1} / ${this.hits.length.toLocaleString('en')}${more}`;
  }
}
