// The order of pipelines: by drag and drop, and by keys for those who do not drag.
import { pipelineUrl } from './dash-data.js';
import { send, toast } from './page.js';

const MAY_CHANGE = 2;

/**
 * Lets members of a team order its pipelines, and the instances of a group.
 * @param {HTMLElement} root
 * @param {any} page
 */
export function orderByDrag(root, page) {
  /** @type {string} */
  let dragged = '';

  const entryAt = (target) => {
    const element = target instanceof Element ? target.closest('.card') : null;
    const section = element?.closest('[data-section]')?.getAttribute('data-section') ?? '';
    return { element, section, key: element?.getAttribute('data-key') ?? '' };
  };

  root.addEventListener('pointerdown', (event) => {
    const { element, section, key } = entryAt(event.target);
    if (element && section.startsWith('team:') && page.rightsOf(page.find(key)?.team) & MAY_CHANGE) element.setAttribute('draggable', 'true');
  });
  root.addEventListener('dragstart', (event) => {
    const { key } = entryAt(event.target);
    dragged = key;
    event.dataTransfer?.setData('text/plain', key);
  });
  root.addEventListener('dragover', (event) => {
    const { element, key } = entryAt(event.target);
    for (const old of root.querySelectorAll('.is-target')) if (old !== element) old.classList.remove('is-target');
    if (!element || !dragged || key === dragged || page.find(key)?.team !== page.find(dragged)?.team) return;
    event.preventDefault();
    element.classList.add('is-target');
  });
  root.addEventListener('drop', (event) => {
    const { key, section } = entryAt(event.target);
    event.preventDefault();
    if (key && dragged && key !== dragged) place(page, section, dragged, key);
  });
  root.addEventListener('dragend', () => {
    dragged = '';
    for (const old of root.querySelectorAll('.is-target')) old.classList.remove('is-target');
  });
}

/** Moves the entry that has the focus by places within its team. */
export function shift(page, by) {
  const element = document.activeElement?.closest('[data-section] [data-key]');
  const section = element?.closest('[data-section]')?.getAttribute('data-section') ?? '';
  const key = element?.getAttribute('data-key') ?? '';
  const entries = entriesOf(page, section);
  const other = entries[entries.findIndex((entry) => entry.key === key) + by];
  if (other && section.startsWith('team:')) place(page, section, key, other.key);
}

const entriesOf = (page, key) => page.sections().find((section) => section.key === key)?.entries ?? [];

/** Puts an entry at the place of another, here and on the server. */
async function place(page, section, key, target) {
  const entries = entriesOf(page, section);
  const from = entries.findIndex((entry) => entry.key === key);
  const to = entries.findIndex((entry) => entry.key === target);
  const moved = entries[from];
  if (from < 0 || to < 0 || !(page.rightsOf(moved.team) & MAY_CHANGE)) return;
  if (page.text() && !/group:/.test(page.text())) {
    toast('Clear the search first: the order is that of all pipelines of the team', 'pending');
    return;
  }
  const sorted = entries.filter((entry) => entry.key !== key);
  sorted.splice(to, 0, moved);
  const inGroup = !moved.members && moved.grouped;
  const url = inGroup ? pipelineUrl(moved.team, moved.name, null, '/ordering') : `/teams/${encodeURIComponent(moved.team)}/pipelines/ordering`;
  const body = inGroup ? sorted.map((entry) => entry.vars) : [...new Set(sorted.map((entry) => entry.name))];
  if (!(await send('PUT', `/api/v1${url}`, body))) return;
  const ids = sorted.flatMap((entry) => (entry.members ?? [entry]).map((member) => member.id));
  reorder(page.pipelines, ids);
  page.changed();
}

/** Puts these pipelines into this order, at the places that they have together. */
function reorder(pipelines, ids) {
  const own = new Set(ids);
  const next = ids.map((id) => pipelines.all.get(id)).filter(Boolean);
  const sorted = [...pipelines.all.values()].map((pipeline) => (own.has(pipeline.id) ? next.shift() : pipeline));
  pipelines.all = new Map(sorted.map((pipeline) => [pipeline.id, pipeline]));
}
