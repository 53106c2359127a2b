// The stream of changes, for what reads it: the shared worker, or a page where there is none.

const EVENTS = ['hello', 'state', 'patch', 'part', 'denied', 'gone', 'beat'];
/** Waits in milliseconds before the next try, when the server refuses or is away. */
const WAITS = [500, 1000, 2000, 4000, 8000, 15000];
/** Number of beats without which a connection is dead: a laptop that slept hears no error. */
const MISSED_BEATS = 3;

/** Splits `build:12@3f9a-57` into the topic and the position up to which the page has it. */
export function splitTopic(text) {
  const [topic, position = ''] = text.split('@');
  return { topic, position };
}

/** Returns the position from which two readers of a topic miss nothing; empty if only all of it does. */
export function earlier(one, other) {
  const [boot, at] = cut(one);
  const [otherBoot, otherAt] = cut(other);
  if (!one || !other || boot !== otherBoot) return '';
  return at <= otherAt ? one : other;
}

function cut(position) {
  const dash = position.lastIndexOf('-');
  return [position.slice(0, dash), Number(position.slice(dash + 1))];
}

/** One stream for a set of topics, opened again until it is closed. */
export class Stream {
  /** @param {(message: { type: string, data?: any, since?: number }) => void} deliver */
  constructor(deliver) {
    this.deliver = deliver;
    /** Topics, with the position up to which they were heard; empty for all of the topic. @type {Map<string, string>} */
    this.topics = new Map();
    this.boot = '';
    this.tries = 0;
    /** Time at which the stream was lost, in milliseconds since 1970; 0 while it runs. */
    this.lost = 0;
    this.beat = 0;
    /** @type {EventSource | null} */
    this.source = null;
    this.againTimer = 0;
    this.silenceTimer = 0;
  }

  /** Reads these topics from now on. @param {Map<string, string>} topics */
  read(topics) {
    this.stop();
    this.topics = topics;
    if (topics.size) this.open();
  }

  /** Ends the stream. */
  stop() {
    clearTimeout(this.againTimer);
    clearTimeout(this.silenceTimer);
    this.source?.close();
    this.source = null;
  }

  open() {
    const list = [...this.topics].slice(0, 64).map(([topic, position]) => (position ? `${topic}@${position}` : topic));
    const source = new EventSource(`/airside/v1/live?${new URLSearchParams({ topics: list.join(',') })}`);
    this.source = source;
    for (const name of EVENTS) source.addEventListener(name, (event) => this.hear(name, event));
    source.addEventListener('error', () => this.down(source));
  }

  hear(name, event) {
    let data;
    try {
      data = JSON.parse(event.data || '{}');
    } catch {
      return;
    }
    if (name === 'hello') {
      this.boot = data.boot;
      this.beat = Number(data.beat ?? 0) * 1000;
    }
    this.up();
    this.waitForBeat();
    if (data.v !== undefined && this.topics.has(data.topic)) this.topics.set(data.topic, `${this.boot}-${data.v}`);
    if (name !== 'beat') this.deliver({ type: name, data: name === 'hello' ? data : { ...data, boot: this.boot } });
  }

  up() {
    this.tries = 0;
    if (!this.lost) return;
    this.lost = 0;
    this.deliver({ type: 'up' });
  }

  down(source) {
    if (source !== this.source) return;
    if (!this.lost) {
      this.lost = Date.now();
      this.deliver({ type: 'down', since: this.lost });
    }
    // A refusal ends the source for good; after a broken connection it comes back by itself.
    if (source.readyState === EventSource.CLOSED) this.retry();
  }

  retry() {
    this.stop();
    const wait = WAITS[Math.min(this.tries, WAITS.length - 1)];
    this.tries += 1;
    this.againTimer = setTimeout(() => this.open(), wait * (0.75 + Math.random() / 2));
    this.askForLogin();
  }

  /** Finds out if the stream is refused because the login ended: the source itself does not say. */
  async askForLogin() {
    const answer = await fetch('/api/v1/user').catch(() => null);
    if (answer?.status === 401) this.deliver({ type: 'login' });
  }

  waitForBeat() {
    clearTimeout(this.silenceTimer);
    const source = this.source;
    if (!this.beat || !source) return;
    this.silenceTimer = setTimeout(() => {
      this.down(source);
      this.retry();
    }, this.beat * MISSED_BEATS);
  }
}
