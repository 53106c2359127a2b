// The page of a build: opens the output of steps that are open, follows what runs, and knows keys,
// marked lines and the search.
import { refreshParts } from './page.js';
import { buildKeys } from './build-keys.js';
import { keep, kept } from './dom.js';
import { LogView } from './log.js';
import { TIME_MODES } from './log-row.js';
import { Find } from './log-find.js';
import { findField, showCount } from './build-find.js';

const build = document.body.dataset.buildId ?? '';
/** @type {Map<HTMLElement, LogView>} */
const views = new Map();
const page = {
  build,
  began: 0,
  mode: kept('log.time', TIME_MODES[0]),
  wrap: kept('log.wrap', false),
  dark: false,
  isRunning: false,
};
let follows = false;
/**
 * Line that the page goes to, for as long as the user moves nothing: other outputs that are loaded
 * meanwhile push it away.
 * @type {{ view: LogView, line: number } | null}
 */
let goal = null;
for (const name of ['wheel', 'pointerdown', 'keydown', 'touchmove']) {
  addEventListener(name, () => (goal = null), { passive: true, capture: true });
}

const logs = () => [...document.querySelectorAll('[data-log-step]')].filter((it) => it instanceof HTMLElement);
const find = new Find(build, () => logs().map((log) => log.dataset.logStep ?? ''), showHits);

/** Returns the output of a step, opened. */
function viewOf(step) {
  const log = logs().find((one) => one.dataset.logStep === step);
  if (!log) return null;
  reveal(log);
  sync();
  return views.get(log) ?? null;
}

/** Opens everything around an element. */
function reveal(element) {
  for (let at = element.parentElement; at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
    if (at.dataset.attemptBody) showAttempt(at.dataset.attemptBody);
  }
}

/** Makes views of outputs that are shown, and forgets those that left the page. */
function sync() {
  readPage();
  for (const [element] of views) if (!element.isConnected) views.delete(element);
  for (const element of logs()) {
    if (views.has(element) || !element.parentElement?.checkVisibility()) continue;
    const state = element.closest('.step')?.getAttribute('data-state');
    const view = new LogView(element, { ...page, isRunning: state === 'started' });
    for (const name of ['mode', 'dark', 'wrap']) Object.defineProperty(view.page, name, { get: () => page[name] });
    view.hits = hitsOf(view.step);
    view.more.addEventListener('click', () => {
      follows = true;
      view.scrollToEnd();
      showMore();
    });
    views.set(element, view);
    view.open().then(settle);
  }
}

function readPage() {
  const root = document.documentElement.dataset.theme;
  page.dark = root === 'dark' || (root !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  const steps = document.getElementById('steps');
  page.isRunning = steps?.dataset.status === 'started';
  page.began = Number(steps?.dataset.began ?? 0);
  document.body.classList.toggle('wraps', page.wrap);
}

// Drawing follows the eye, once a frame.
let frame = 0;
function drawSoon() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    for (const view of views.values()) view.draw();
  });
}
let height = scrollY;
addEventListener('scroll', () => {
  // Only a user moves up: what follows moves down.
  if (scrollY < height - 2) follows = false;
  else if (running()?.isAtEnd()) follows = true;
  height = scrollY;
  showMore();
  drawSoon();
}, { passive: true });
addEventListener('resize', drawSoon);
document.addEventListener('toggle', () => {
  sync();
  drawSoon();
}, true);
new MutationObserver(() => {
  readPage();
  for (const view of views.values()) view.redraw();
}).observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });

// Following: the end of the last step that runs stays in view until one scrolls away from it.
function running() {
  const shown = [...views.values()].filter((view) => !view.lines.ended && view.lines.total > 0 && view.element.checkVisibility());
  return shown.at(-1) ?? null;
}

/** Puts what one looks at where it was, after an output has grown. */
function settle() {
  if (goal) goal.view.show(goal.line);
  followEnd();
}

function show(view, line) {
  follows = false;
  goal = { view, line };
  return view.show(line);
}

function followEnd() {
  const last = running();
  if (follows && last) last.scrollToEnd();
  showMore();
}

function showMore() {
  const last = running();
  for (const view of views.values()) {
    const fresh = view.lines.total - view.seen;
    if (view === last && !follows && fresh > 0 && view.seen > 0) view.more.textContent = `${fresh.toLocaleString('en')} new lines ↓`;
    view.more.hidden = !(view === last && !follows && fresh > 0 && view.seen > 0);
    if (follows || view !== last || view.seen === 0) view.seen = view.lines.total;
  }
}

/** Looks for further lines of all steps that may have some. */
function poke() {
  for (const view of views.values()) {
    if (!view.lines.ended || view.lines.trouble) view.poke().then(settle);
  }
}
let toldOfLines = false;
for (const name of ['airside:patch', 'airside:state', 'airside:part']) {
  document.addEventListener(name, ({ detail }) => {
    if (detail?.topic !== `build:${build}`) return;
    toldOfLines ||= detail.steps !== undefined;
    poke();
  });
}

/** Milliseconds between glances at what runs, where the stream does not count lines. */
const GLANCE_MS = 2000;
setInterval(() => {
  if (toldOfLines || document.hidden || !page.isRunning) return;
  for (const view of views.values()) {
    if (view.element.checkVisibility()) view.glance().then((found) => found && settle());
  }
}, GLANCE_MS);

document.addEventListener('airside:hello', poke);
document.addEventListener('airside:parts', ({ detail }) => {
  if (detail.ids.includes('head')) showStatus();
  if (!detail.ids.includes('steps')) return;
  sync();
  poke();
});

const SIGNS = { succeeded: '✓', failed: '✗', errored: '⚠', aborted: '⊘', started: '◐', pending: '…' };

/** Shows the build's status in the browser's tab. */
function showStatus() {
  const status = document.getElementById('head')?.dataset.status ?? '';
  if (!SIGNS[status]) return;
  document.title = document.title.replace(/^\S+/, SIGNS[status]);
  const icon = document.querySelector('link[rel="icon"]');
  if (icon instanceof HTMLLinkElement) icon.href = new URL(`./icon-${status}.svg`, import.meta.url).href;
}

// Marked lines: `#L<step>:<line>` and `#L<step>:<line>:<line>`, as Concourse writes them.
function readHash() {
  const found = /^#L(.+?):(\d+)(?::(\d+))?$/.exec(decodeURIComponent(location.hash));
  if (!found) {
    const step = location.hash.startsWith('#S') && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (step) reveal(step.firstElementChild ?? step);
    return;
  }
  const [first, last] = [Number(found[2]), Number(found[3] ?? found[2])].sort((a, b) => a - b);
  const view = viewOf(found[1]);
  if (!view) {
    // A substep that the page does not draw by itself.
    const address = new URL(location.href);
    if (address.searchParams.get('step') === found[1]) return;
    address.searchParams.set('step', found[1]);
    location.replace(address);
    return;
  }
  for (const other of views.values()) if (other !== view && other.marked) other.mark(null);
  view.mark([first, last]);
  show(view, first);
}
addEventListener('hashchange', readHash);

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const number = target?.closest('.line > a:not(.out)');
  if (number instanceof HTMLAnchorElement && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    markLine(number.closest('[data-log-step]'), Number(number.textContent), event.shiftKey);
  }
  const attempt = target?.closest('[data-attempt]');
  if (attempt instanceof HTMLElement && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    showAttempt(attempt.dataset.attempt ?? '');
    sync();
  }
  const tool = target?.closest('[data-log]');
  if (tool instanceof HTMLElement) TOOLS[tool.dataset.log ?? '']?.(tool);
});

function markLine(log, line, extends_) {
  const view = views.get(log);
  if (!view) return;
  const from = extends_ && view.marked ? view.marked[0] : line;
  const [first, last] = [from, line].sort((a, b) => a - b);
  for (const other of views.values()) if (other !== view && other.marked) other.mark(null);
  view.mark([first, last]);
  history.replaceState(null, '', `#L${view.step}:${first}${first === last ? '' : `:${last}`}`);
}

function showAttempt(id) {
  const body = document.getElementById(`A${id}`);
  const tabs = document.querySelector(`[data-attempt="${CSS.escape(id)}"]`)?.parentElement;
  if (!body || !tabs) return;
  for (const tab of tabs.querySelectorAll('[data-attempt]')) {
    const isIt = tab.getAttribute('data-attempt') === id;
    if (isIt) tab.setAttribute('aria-current', 'true');
    else tab.removeAttribute('aria-current');
    document.getElementById(`A${tab.getAttribute('data-attempt')}`)?.toggleAttribute('hidden', !isIt);
  }
}

// Find.
function hitsOf(step) {
  const hits = new Map();
  for (const hit of find.hits) if (hit.step === step) hits.set(hit.line, hit.spans);
  return hits;
}

function showHits() {
  showCount(find);
  for (const view of views.values()) {
    view.hits = hitsOf(view.step);
    view.at = null;
    view.redraw();
  }
}

async function goTo(hit) {
  if (!hit) return;
  showCount(find);
  const view = viewOf(hit.step);
  if (!view) return;
  for (const other of views.values()) {
    if (!other.at) continue;
    other.at = null;
    other.redraw();
  }
  view.hits = hitsOf(hit.step);
  view.at = [hit.line, 0];
  await show(view, hit.line);
}

const TOOLS = {
  previous: () => goTo(find.move(-1)),
  next: () => goTo(find.move(1)),
  case: (button) => toggleFind(button),
  regex: (button) => toggleFind(button),
  wrap: () => {
    page.wrap = !page.wrap;
    keep('log.wrap', page.wrap);
    showTools();
    for (const view of views.values()) view.rewrap();
  },
  time: () => {
    page.mode = TIME_MODES[(TIME_MODES.indexOf(page.mode) + 1) % TIME_MODES.length];
    keep('log.time', page.mode);
    showTools();
  },
};

function showTools() {
  document.body.classList.toggle('wraps', page.wrap);
  document.body.classList.toggle('timeless', page.mode === 'No times');
  document.querySelector('[data-log="wrap"]')?.setAttribute('aria-pressed', String(page.wrap));
  const mode = document.getElementById('time-mode');
  if (mode) mode.textContent = page.mode;
  document.getElementById('tools')?.removeAttribute('hidden');
  for (const view of views.values()) view.redraw();
}

buildKeys({
  reveal,
  toEnd: () => {
    follows = true;
    scrollTo({ top: document.documentElement.scrollHeight });
    followEnd();
  },
  hit: (by) => goTo(find.move(by)),
  wrap: TOOLS.wrap,
  times: TOOLS.time,
});

const toggleFind = findField(find, goTo);
readPage();
follows = page.isRunning && !location.hash;
showTools();
sync();
readHash();
document.querySelector('#tabs [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
// Whoever comes from the cache of the browser sees what is true now.
addEventListener('pageshow', (event) => {
  if (event.persisted) refreshParts(['tabs', 'head', 'steps']);
});
