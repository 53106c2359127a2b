// What the server tells while the page is open: states, patches and parts, and that it is away.
import { iconButton, make, meta } from './dom.js';
import { applyParts } from './fragment.js';
import { Stream, splitTopic } from './stream.js';

/** Time without the server, in milliseconds, after which the page says so; and after which it greys. */
const TOLD_MS = 2000;
const GREY_MS = 15000;
/** The largest number of parts in one request, as the server has it. */
const MAX_PARTS = 32;

/** Topics of this page, each with its position where the page has one: `dashboard@3f9a-57`. */
let topics = meta('airside-topics').split(' ').filter(Boolean);
/** @type {{ join(topics: string[]): void, leave(): void } | null} */
let line = null;

/** Starts to listen. A page without topics hears nothing and costs nothing. */
export function start() {
  if (topics.length === 0 || !globalThis.EventSource) return;
  line = globalThis.SharedWorker ? viaWorker() : alone();
  line.join(topics);
  // A page in the cache of the browser does not hold the stream, and looks again when it comes back.
  addEventListener('pagehide', () => line?.leave());
  addEventListener('pageshow', (event) => {
    if (!event.persisted) return;
    line?.join(topics.map((text) => splitTopic(text).topic));
    refreshAll();
  });
}

/**
 * Adds topics to those of the page, such as the one of a panel that was opened. A topic that is followed
 * already is told again from its beginning.
 */
export function follow(more) {
  const others = topics.filter((text) => !more.includes(splitTopic(text).topic));
  topics = [...others, ...more];
  if (line) line.join(topics);
  else start();
}

function viaWorker() {
  const policy = globalThis.trustedTypes?.createPolicy('airside-worker', { createScriptURL: (url) => url });
  const url = new URL('./live-worker.js', import.meta.url).href;
  // The stream is opened with the login of its first tab: another login is another worker.
  const name = `airside-live ${meta('csrf')}`;
  // @ts-ignore: a browser without trusted types takes the address.
  const worker = new SharedWorker(policy ? policy.createScriptURL(url) : url, { type: 'module', name });
  worker.port.addEventListener('message', (event) => hear(event.data));
  worker.port.start();
  return {
    join: (wanted) => worker.port.postMessage({ type: 'join', topics: wanted }),
    leave: () => worker.port.postMessage({ type: 'leave' }),
  };
}

/** A stream of this tab alone, closed while the tab is hidden. */
function alone() {
  const stream = new Stream(hear);
  let wanted = new Map();
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stream.stop();
    else stream.read(stream.topics.size ? stream.topics : wanted);
  });
  return {
    join(told) {
      wanted = new Map(told.map(splitTopic).map(({ topic, position }) => [topic, position]));
      if (!document.hidden) stream.read(wanted);
    },
    leave: () => stream.stop(),
  };
}

/** Topics of which the page has a state, by the stream or by its own position. */
const known = new Set(topics.map(splitTopic).filter(({ position }) => position).map(({ topic }) => topic));

function hear({ type, data, since }) {
  if (type === 'hello') greet(data);
  else if (type === 'up') connected();
  else if (type === 'down') cutOff(since);
  else if (type === 'login' && meta('csrf')) banner('login', 'You are not logged in any more.', 's-errored', loginLink());
  else if (type === 'part') refreshParts(data.parts.flatMap(fragmentsOf));
  else if (type === 'gone') banner('gone', 'This was deleted, or moved to another name.', 's-pending');
  else if (type === 'denied') banner('gone', 'You may not see this any more. What is shown is as it was.', 's-errored');
  else if (type === 'state' && known.has(data.topic)) refreshAll();
  if (type === 'state') known.add(data.topic);
  if (type === 'state' || type === 'patch' || type === 'part') {
    document.dispatchEvent(new CustomEvent(`airside:${type}`, { detail: data }));
  }
}

function greet(hello) {
  document.dispatchEvent(new CustomEvent('airside:hello', { detail: hello }));
  if (hello.edition !== meta('airside-edition')) {
    const reload = make('button', { type: 'button', class: 'btn', click: () => location.reload() }, 'Reload');
    banner('edition', 'The server has a new version of this page.', '', reload);
  }
}

let tellTimer = 0;
let greyTimer = 0;

function cutOff(since) {
  connected();
  const passed = Date.now() - since;
  const clock = new Date(since).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' });
  const text = `Cut off since ${clock}. What is shown is as it was then.`;
  tellTimer = setTimeout(() => banner('away', text, 's-errored'), Math.max(0, TOLD_MS - passed));
  greyTimer = setTimeout(() => document.documentElement.toggleAttribute('data-stale', true), Math.max(0, GREY_MS - passed));
}

function connected() {
  clearTimeout(tellTimer);
  clearTimeout(greyTimer);
  document.getElementById('banner-away')?.remove();
  document.documentElement.toggleAttribute('data-stale', false);
}

/**
 * Shows a line above the content, once for each name.
 * @param {string} name
 * @param {string} text
 * @param {string} [status] class of a status
 * @param {Node} [button]
 */
export function banner(name, text, status = '', button) {
  const id = `banner-${name}`;
  if (document.getElementById(id)) return;
  const kind = status ? `banner wall banner-s ${status}` : 'banner wall';
  const shown = make('div', { class: kind, id, role: 'status' }, make('span', { class: 'grow' }, text), button);
  shown.append(iconButton('i-x', 'Dismiss', { click: () => shown.remove() }));
  document.querySelector('.shell')?.before(shown);
}

function loginLink() {
  const here = encodeURIComponent(location.pathname + location.search);
  return make('a', { class: 'btn', href: `/login?redirect_uri=${here}` }, 'Log in');
}

/**
 * Returns the ids of the fragments that a part of a topic concerns: the elements whose `data-part` has
 * its name (or the name before the colon of `build:12`), else the element of that id.
 */
function fragmentsOf(name) {
  if (name === 'all') return allFragments();
  const [kind] = name.split(':');
  const marked = [...document.querySelectorAll(`[data-part~="${CSS.escape(name)}"], [data-part~="${CSS.escape(kind)}"]`)];
  return marked.length ? marked.map((element) => element.id) : [name];
}

/** Returns the ids of all fragments of the page, which its template brackets with comments. */
function allFragments() {
  const comments = document.createTreeWalker(document.body, NodeFilter.SHOW_COMMENT);
  const ids = [];
  while (comments.nextNode()) {
    const opening = /^\[([^/\]][^\]]*)\]$/.exec(comments.currentNode.nodeValue ?? '');
    if (opening) ids.push(opening[1]);
  }
  return ids;
}

const refreshAll = () => refreshParts(allFragments());

/** Ids of fragments that wait for the request that is under way. @type {Set<string>} */
const waiting = new Set();
let busy = false;

/**
 * Fetches fragments of this page again and lays them over what is shown. Calls during a request are
 * joined; a hidden page fetches when it is looked at.
 * @param {string[]} ids
 */
export async function refreshParts(ids) {
  for (const id of ids) waiting.add(id);
  if (busy || document.hidden) return;
  busy = true;
  try {
    while (waiting.size) {
      const wanted = [...waiting].filter((id) => document.getElementById(id)).slice(0, MAX_PARTS);
      waiting.clear();
      if (wanted.length) await fetchParts(wanted);
    }
  } catch {
    // The server is away: the stream says so, and tells the state when it is back.
  } finally {
    busy = false;
  }
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden && waiting.size) refreshParts([]);
});

async function fetchParts(ids) {
  const address = new URL(location.href);
  address.searchParams.set('part', ids.join(','));
  const response = await fetch(address, { headers: { Accept: 'text/html' } });
  if (response.redirected) banner('login', 'You are not logged in any more.', 's-errored', loginLink());
  else if (response.ok) applyParts(await response.text());
}
