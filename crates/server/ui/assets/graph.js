// The graph of a pipeline: zoom, pan, the map, what belongs together, and where the keys lead. Rust draws
// it; this module moves the view over it and marks parts of it. An update never resets the view.
import { refreshParts, registerKeys } from './page.js';

const NS = 'http://www.w3.org/2000/svg';
const MIN_ZOOM = 0.1;
const MAX_ZOOM = 3;
/** Below this zoom names are too small to read: the glyphs stay. */
const READABLE = 0.4;

const svg = /** @type {SVGSVGElement | null} */ (document.querySelector('#graph'));
const map = document.querySelector('#map');
/** The part of the graph that is shown: left, top, width, height. `null` fits all of it. */
let view = null;

const full = () => (svg?.dataset.full ?? '0 0 1 1').split(' ').map(Number);
const scale = () => {
  const [, , width, height] = view ?? full();
  const box = svg.getBoundingClientRect();
  return Math.min(box.width / width, box.height / height);
};

function show() {
  if (!svg) return;
  // A graph that is smaller than the window is not blown up.
  if (!view && scale() > 1) view = centred(1);
  svg.setAttribute('viewBox', (view ?? full()).join(' '));
  svg.classList.toggle('is-far', scale() < READABLE);
  const percent = document.querySelector('#percent');
  if (percent) percent.textContent = `${Math.round(scale() * 100)} %`;
  drawView();
}

/** The view of this zoom around the middle of the graph. */
function centred(zoom) {
  const box = svg.getBoundingClientRect();
  const [left, top, width, height] = full();
  const [w, h] = [box.width / zoom, box.height / zoom];
  return [left + (width - w) / 2, top + (height - h) / 2, w, h];
}

/** Zooms by a factor; the point under (x, y) of the window stays where it is. */
function zoom(factor, x, y) {
  const box = svg.getBoundingClientRect();
  const before = scale();
  const after = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, before * factor));
  const [px, py] = [(x ?? box.left + box.width / 2) - box.left, (y ?? box.top + box.height / 2) - box.top];
  const [left, top, width, height] = view ?? full();
  // The view keeps its aspect, so it may be smaller than the window: what is left over is at both sides.
  const [shownX, shownY] = [left - (box.width / before - width) / 2, top - (box.height / before - height) / 2];
  view = [shownX + px / before - px / after, shownY + py / before - py / after, box.width / after, box.height / after];
  show();
}

function fit() {
  view = null;
  show();
}

function pan(dx, dy) {
  const by = scale();
  const box = svg.getBoundingClientRect();
  const [left, top, width, height] = view ?? full();
  const [w, h] = [box.width / by, box.height / by];
  view = [left - (w - width) / 2 - dx / by, top - (h - height) / 2 - dy / by, w, h];
  show();
}

/** Draws the map: a bar for each node, and the frame of the view. */
function drawMap() {
  if (!map || !svg) return;
  map.setAttribute('viewBox', full().join(' '));
  map.replaceChildren();
  for (const node of svg.querySelectorAll('a[data-node]')) {
    const box = node.querySelector('.box-n');
    if (!box) continue;
    const bar = document.createElementNS(NS, 'rect');
    for (const name of ['x', 'y', 'width', 'height']) bar.setAttribute(name, box.getAttribute(name) ?? '0');
    bar.setAttribute('class', node.classList.contains('job') ? `m-job s-${node.getAttribute('data-running') === 'true' ? 'started' : node.getAttribute('data-status')}` : 'm-res');
    map.append(bar);
  }
  const frame = document.createElementNS(NS, 'rect');
  frame.setAttribute('class', 'view');
  map.prepend(frame);
  drawView();
}

function drawView() {
  const frame = map?.querySelector('.view');
  if (!frame) return;
  const [left, top, width, height] = view ?? full();
  const [l, t, w, h] = full();
  const [x, y] = [Math.max(left, l), Math.max(top, t)];
  frame.setAttribute('x', String(x));
  frame.setAttribute('y', String(y));
  frame.setAttribute('width', String(Math.max(0, Math.min(left + width, l + w) - x)));
  frame.setAttribute('height', String(Math.max(0, Math.min(top + height, t + h) - y)));
  // The whole graph needs no map.
  map.closest('.float')?.classList.toggle('is-idle', view === null || (width >= w && height >= h));
}

/** Marks everything of one resource, or nothing. */
function light(resource) {
  for (const lit of svg.querySelectorAll('.lit, .is-lit')) lit.classList.remove('lit', 'is-lit');
  if (resource === null) return;
  for (const path of svg.querySelectorAll(`.wires [data-res="${resource}"], .tips [data-res="${resource}"]`)) path.classList.add('lit');
  for (const node of svg.querySelectorAll(`.res[data-res="${resource}"]`)) node.classList.add('is-lit');
}

/** Fades what is neither before nor behind a node. */
function lineage(start) {
  const edges = [...svg.querySelectorAll('.wires path')].map((path) => [path.dataset.from, path.dataset.to]);
  const kept = new Set([start]);
  for (const [from, to] of [[0, 1], [1, 0]]) {
    const next = [start];
    const seen = new Set(next);
    while (next.length) {
      const at = next.pop();
      for (const edge of edges) {
        if (edge[from] === at && !seen.has(edge[to])) {
          seen.add(edge[to]);
          next.push(edge[to]);
        }
      }
    }
    for (const node of seen) kept.add(node);
  }
  for (const node of svg.querySelectorAll('[data-node]')) node.classList.toggle('is-faded', !kept.has(node.dataset.node));
  for (const path of svg.querySelectorAll('[data-from]')) {
    path.classList.toggle('is-faded', !(kept.has(path.dataset.from) && kept.has(path.dataset.to)));
  }
}

function unfade() {
  for (const faded of svg.querySelectorAll('.is-faded')) faded.classList.remove('is-faded');
}

/** Shows jobs whose name has the text, or whose status it names: `status:failed`. */
function find(text) {
  const words = text.trim().toLowerCase();
  const status = /^status:(\S*)$/.exec(words)?.[1].replace('running', 'started');
  const fits = (node) => {
    if (!words) return true;
    if (status !== undefined) return node.dataset.status.startsWith(status) || ('started'.startsWith(status) && node.dataset.running === 'true');
    return node.dataset.name.toLowerCase().includes(words);
  };
  for (const job of svg.querySelectorAll('a.job')) job.classList.toggle('is-faded', !fits(job));
  for (const row of document.querySelectorAll('#outline tr[data-name]')) {
    row.hidden = Boolean(words) && status === undefined && !row.dataset.name.toLowerCase().includes(words);
  }
}

/** Moves the focus along edges, or to the next node of a column. */
function walk(key) {
  const at = document.activeElement?.closest?.('[data-node]');
  if (!at) {
    svg.querySelector('a[data-node]')?.focus();
    return;
  }
  const edges = [...svg.querySelectorAll('.wires path')];
  const sideways = { ArrowRight: ['from', 'to'], ArrowLeft: ['to', 'from'] }[key];
  const next = sideways
    ? edges.find((path) => path.dataset[sideways[0]] === at.dataset.node)?.dataset[sideways[1]]
    : neighbour(at, key === 'ArrowDown' ? 1 : -1);
  const node = svg.querySelector(`[data-node="${next}"]`);
  node?.focus();
  if (node) keepInView(node);
}

/** The node above or below in the column. */
function neighbour(at, step) {
  const place = (node) => {
    const box = node.querySelector('.box-n');
    return [Math.floor(Number(box.getAttribute('x'))), Number(box.getAttribute('y'))];
  };
  const [x] = place(at);
  const column = [...svg.querySelectorAll('[data-node]')].filter((node) => Math.abs(place(node)[0] - x) < 2)
    .sort((a, b) => place(a)[1] - place(b)[1]);
  return column[column.indexOf(at) + step]?.dataset.node;
}

function keepInView(node) {
  const [box, frame] = [node.getBoundingClientRect(), svg.getBoundingClientRect()];
  const over = (low, high, min, max) => (low < min ? min - low + 24 : high > max ? max - high - 24 : 0);
  const [dx, dy] = [over(box.left, box.right, frame.left, frame.right), over(box.top, box.bottom, frame.top, frame.bottom)];
  if (dx || dy) pan(dx, dy);
}

function listen() {
  const canvas = svg.closest('.canvas');
  canvas.addEventListener('wheel', (event) => {
    if (getComputedStyle(svg).display === 'none') return;
    event.preventDefault();
    zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX, event.clientY);
  }, { passive: false });
  let from = null;
  svg.addEventListener('pointerdown', (event) => {
    if (event.button === 0) from = { x: event.clientX, y: event.clientY, moved: false };
  });
  addEventListener('pointermove', (event) => {
    if (!from || !(event.buttons & 1)) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (!from.moved && Math.hypot(dx, dy) < 4) return;
    from = { x: event.clientX, y: event.clientY, moved: true };
    pan(dx, dy);
  });
  addEventListener('pointerup', () => setTimeout(() => (from = null)));
  // A drag that ends over a job does not open it; a click with shift shows where it leads.
  svg.addEventListener('click', (event) => {
    const node = event.target instanceof Element ? event.target.closest('[data-node]') : null;
    if (from?.moved || (event.shiftKey && node)) event.preventDefault();
    if (event.shiftKey && node) lineage(node.dataset.node);
    else if (!node && !from?.moved) unfade();
  });
  svg.addEventListener('dragstart', (event) => event.preventDefault());
  for (const type of ['pointerover', 'focusin']) {
    svg.addEventListener(type, (event) => light(event.target.closest?.('.res')?.dataset.res ?? null));
  }
  svg.addEventListener('pointerleave', () => light(null));
  document.addEventListener('click', (event) => {
    const button = event.target instanceof Element ? event.target.closest('[data-zoom]') : null;
    const group = event.target instanceof Element ? event.target.closest('[data-toggle]') : null;
    if (button) ({ in: () => zoom(1.25), out: () => zoom(0.8), fit })[button.dataset.zoom]();
    if (group && event.shiftKey) {
      event.preventDefault();
      location.assign(group.dataset.toggle);
    }
  });
  document.querySelector('#find-job')?.addEventListener('input', (event) => find(event.target.value));
  document.addEventListener('keydown', (event) => {
    if (!event.key.startsWith('Arrow') || event.ctrlKey || event.metaKey || event.altKey) return;
    const inGraph = document.activeElement?.closest?.('#graph') || document.activeElement === document.body;
    if (!inGraph || getComputedStyle(svg).display === 'none') return;
    event.preventDefault();
    walk(event.key);
  });
  new ResizeObserver(show).observe(svg);
  document.addEventListener('airside:parts', (event) => {
    if (!event.detail.ids.includes('graph')) return;
    show();
    drawMap();
    find(document.querySelector('#find-job')?.value ?? '');
  });
  for (const type of ['airside:patch', 'airside:part']) {
    document.addEventListener(type, (event) => {
      if (event.detail.topic?.startsWith('pipeline:')) refreshParts(['head', 'graph', 'outline']);
    });
  }
}

registerKeys([
  { key: 'f', text: 'Fit the graph', run: fit },
  { key: '+', text: 'Larger', run: () => zoom(1.25) },
  { key: '-', text: 'Smaller', run: () => zoom(0.8) },
  { key: 'x', text: 'Show what leads to a job and from it', run: () => {
    const node = document.activeElement?.closest?.('[data-node]')?.dataset.node;
    if (svg.querySelector('.is-faded') || !node) unfade();
    else lineage(node);
  } },
  { key: 'v', text: 'Graph or outline', run: () => document.querySelector('.seg a:not([aria-current])')?.click() },
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => ({
    key: String(number), text: `Group ${number}`, shown: number === 1 ? ['1', '…', '9'] : [], run: () => document.querySelectorAll('.groups a')[number - 1]?.click(),
  })),
].map((entry) => ({ ...entry, section: 'Pipeline' })));

if (svg) {
  listen();
  show();
  drawMap();
  const focus = new URLSearchParams(location.search).get('focus');
  const node = focus && [...svg.querySelectorAll('a.job')].find((job) => job.dataset.name === focus);
  if (node) lineage(node.dataset.node);
}
