// Pipelines as the server tells them, and what the dashboard makes of them. Pure: no page, no clock.

/**
 * A pipeline. `jobs` has a digit a job, `ranks` their columns.
 * @typedef {{ id: number, team: string, name: string, paused: boolean, archived: boolean, exposed: boolean,
 *   inside: boolean, since: number, jobs: string, ranks: string, running: boolean, failing: number,
 *   vars: Record<string, any> | null, varsText: string, values: string[], by: string, pausedAt: number,
 *   status: string, href: string, grouped: boolean, star: boolean, key: string, members?: Pipeline[] }} Pipeline
 */

const LATEST = ['none', 'succeeded', 'failed', 'errored', 'aborted'];
/** From bad to good: the status of a pipeline is the first that one of its jobs has. */
const WORST = ['failed', 'errored', 'aborted', 'succeeded'];

/** Reads a job's digit. */
export function jobState(digit) {
  const number = Number.parseInt(digit, 36) || 0;
  return { latest: LATEST[number % 5], activity: ['', 'pending', 'started'][Math.floor(number / 5) % 3], paused: number >= 15 };
}

/** Returns the cell of a job: what goes on, else paused, else how its last build ended. */
export function cellOf(digit) {
  const { latest, activity, paused } = jobState(digit);
  if (activity === 'started') return 'started';
  if (paused) return 'paused';
  if (activity) return 'pending';
  return latest === 'none' ? 'pending' : latest;
}

/** Returns the status of a pipeline by Concourse's rule. */
export function statusOf(paused, archived, jobs) {
  if (archived) return 'archived';
  if (paused) return 'paused';
  const found = new Set();
  for (const digit of jobs) {
    const { latest, paused: resting } = jobState(digit);
    if (!resting) found.add(latest);
  }
  return WORST.find((status) => found.has(status)) ?? 'pending';
}

/** Reads an item of the stream or of the page. @returns {Pipeline} */
export function decode(item) {
  const [id, team, name, flags, since, jobs, ranks, running, failing, vars, pause] = item;
  const own = vars && typeof vars === 'object' ? vars : null;
  const paused = (flags & 1) > 0;
  const archived = (flags & 2) > 0;
  const leaves = own ? flatten(own) : [];
  return {
    id, team, name, paused, archived, exposed: (flags & 4) > 0, inside: (flags & 8) > 0, since, jobs, ranks,
    running: running > 0 && !archived, failing, vars: own, by: pause?.[0] ?? '', pausedAt: pause?.[1] ?? 0,
    values: leaves.map(([, value]) => String(value)),
    varsText: leaves.map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`).join(', '),
    status: statusOf(paused, archived, jobs), href: pipelineUrl(team, name, own), grouped: false, star: false,
    key: `p${id}`,
  };
}

/** Returns the leaves of instance vars with the way to them, in the order of their names. */
export function flatten(vars, way = '') {
  const leaves = [];
  for (const key of Object.keys(vars).sort()) {
    const value = vars[key];
    const path = way ? `${way}.${key}` : key;
    if (value && typeof value === 'object' && !Array.isArray(value)) leaves.push(...flatten(value, path));
    else leaves.push([path, value]);
  }
  return leaves;
}

/** Returns `?vars.…` for a pipeline's page and its API. */
export function varsQuery(vars) {
  if (!vars || Object.keys(vars).length === 0) return '';
  const isFlat = Object.entries(vars).every(([key, value]) => /^[\w-]+$/.test(key) && (value === null || typeof value !== 'object'));
  const query = new URLSearchParams(isFlat
    ? Object.keys(vars).sort().map((key) => [`vars.${key}`, JSON.stringify(vars[key])])
    : [['vars', JSON.stringify(vars)]]);
  return `?${query}`;
}

/** Returns the address of a pipeline's page, or of the API with `/api/v1` before it. */
export function pipelineUrl(team, name, vars, rest = '') {
  return `/teams/${encodeURIComponent(team)}/pipelines/${encodeURIComponent(name)}${rest}${varsQuery(vars)}`;
}

/** The pipelines of a viewer, kept true by states and patches. */
export class Pipelines {
  constructor() {
    /** @type {Map<number, Pipeline>} in the order in which they are shown */
    this.all = new Map();
    this.boot = '';
    this.version = -1;
  }

  /** Takes all of it. */
  take({ boot = '', v = -1, items }) {
    this.boot = boot;
    this.version = v;
    this.all = new Map(items.map((item) => [item[0], decode(item)]));
    this.group();
  }

  /** Takes what changed, and returns false if it was known already. */
  patch({ boot = this.boot, v, items = [], gone = [], order }) {
    if (boot === this.boot && v <= this.version) return false;
    this.version = v;
    for (const item of items) this.all.set(item[0], decode(item));
    for (const id of gone) this.all.delete(id);
    if (order) {
      const sorted = new Map();
      for (const id of order) if (this.all.has(id)) sorted.set(id, this.all.get(id));
      for (const [id, pipeline] of this.all) if (!sorted.has(id)) sorted.set(id, pipeline);
      this.all = sorted;
    }
    this.group();
    return true;
  }

  /** Marks the instances of one name, which are shown as one card. */
  group() {
    const named = new Map();
    for (const pipeline of this.all.values()) {
      const name = groupKey(pipeline);
      named.set(name, (named.get(name) ?? 0) + 1);
    }
    for (const pipeline of this.all.values()) {
      pipeline.grouped = pipeline.vars !== null || (named.get(groupKey(pipeline)) ?? 0) > 1;
    }
  }
}

/** Returns the key of the group of instances that a pipeline may belong to. */
export function groupKey({ team, name }) {
  return `g:${team}/${name}`;
}

/** Returns the address of a group's own page, as Concourse has it. */
export function groupUrl({ team, name }) {
  return `/?${new URLSearchParams({ search: `team:"${team}" group:"${name}"` })}`;
}

/** Puts instances of one name together, each group where its first member stands. */
export function gather(pipelines) {
  const shown = [];
  const groups = new Map();
  for (const pipeline of pipelines) {
    if (!pipeline.grouped) {
      shown.push(pipeline);
      continue;
    }
    const key = groupKey(pipeline);
    const members = groups.get(key);
    if (members) members.push(pipeline);
    else {
      groups.set(key, [pipeline]);
      shown.push(key);
    }
  }
  return shown.map((entry) => (typeof entry === 'string' ? groupCard(entry, groups.get(entry)) : entry));
}

/** Makes the card of a group: its cells are its instances, its status is their worst. */
function groupCard(key, members) {
  const first = members[0];
  const status = ['failed', 'errored', 'aborted', 'succeeded', 'pending', 'paused', 'archived']
    .find((status) => members.some((member) => member.status === status)) ?? 'pending';
  const changed = members.filter((member) => member.status === status).map((member) => member.since).filter(Boolean);
  return {
    ...first, key, members, status, varsText: '', vars: null, href: groupUrl(first), paused: false,
    since: changed.length ? Math.min(...changed) : 0, archived: status === 'archived', star: false,
    running: members.some((member) => member.running),
    failing: members.reduce((sum, member) => sum + member.failing, 0),
  };
}

/** Returns the digit by which an instance is shown in the card of its group. */
export function memberCell(member) {
  if (member.running) return 'started';
  return member.status === 'archived' ? 'pending' : member.status;
}

/** Counts pipelines by status, and jobs that run and that wait. */
export function counts(pipelines) {
  const by = { succeeded: 0, failed: 0, errored: 0, aborted: 0, running: 0, pending: 0, paused: 0 };
  let running = 0;
  let waiting = 0;
  for (const pipeline of pipelines) {
    if (pipeline.archived) continue;
    by[pipeline.status] += 1;
    if (!pipeline.running) continue;
    by.running += 1;
    for (const digit of pipeline.jobs) {
      const { activity } = jobState(digit);
      if (activity === 'started') running += 1;
      else if (activity) waiting += 1;
    }
  }
  return { by, running, waiting };
}

const ORDER = ['failed', 'errored', 'aborted', 'running', 'pending', 'succeeded', 'paused', 'archived'];
const COLLATOR = new Intl.Collator('en', { numeric: true });

/** Ways to sort a list. */
export const SORTS = {
  name: (one, other) => COLLATOR.compare(one.name, other.name) || COLLATOR.compare(one.varsText, other.varsText),
  status: (one, other) => ORDER.indexOf(one.status) - ORDER.indexOf(other.status) || other.since - one.since,
  since: (one, other) => other.since - one.since,
  running: (one, other) => Number(other.running) - Number(one.running),
  failing: (one, other) => other.failing - one.failing,
};

/**
 * Parts what is shown into sections, each with a name and its entries.
 * @param {Pipeline[]} pipelines
 * @param {{ by: string, stars: Set<string>, flat: boolean, sort: string }} how
 */
export function sections(pipelines, { by, stars, flat, sort }) {
  const put = (list) => {
    const entries = flat ? list : gather(list);
    for (const entry of entries) entry.star = stars.has(entry.key);
    return sort && SORTS[sort] ? [...entries].sort(SORTS[sort]) : entries;
  };
  const whole = put(pipelines);
  const starred = flat ? [] : [...whole.filter((entry) => entry.star), ...whole.flatMap((entry) => entry.members ?? [])
    .filter((member) => stars.has(member.key)).map((member) => ({ ...member, star: true }))];
  const found = starred.length ? [{ key: 'stars', title: 'Favourites', team: '', entries: starred }] : [];
  const parts = new Map();
  for (const entry of by === 'none' ? [] : whole) {
    const name = by === 'status' ? (entry.running && entry.status === 'succeeded' ? 'running' : entry.status) : entry.team;
    if (!parts.has(name)) parts.set(name, []);
    parts.get(name).push(entry);
  }
  if (by === 'none') found.push({ key: 'all', title: 'Pipelines', team: '', entries: whole });
  const names = by === 'status' ? ORDER.filter((name) => parts.has(name)) : [...parts.keys()];
  for (const name of names) found.push({ key: `${by}:${name}`, title: name, team: by === 'team' ? name : '', entries: parts.get(name) });
  return found;
}
