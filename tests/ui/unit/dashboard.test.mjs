// What the dashboard makes of the server's items, and where the cells of jobs stand.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { placeCells } from '../../../crates/server/ui/assets/dash-cells.js';
import { Pipelines, cellOf, counts, decode, gather, pipelineUrl, sections, statusOf } from '../../../crates/server/ui/assets/dash-data.js';
import { earlier, splitTopic } from '../../../crates/server/ui/assets/stream.js';

const item = (id, more = {}) => {
  const it = { team: 'main', name: `p${id}`, flags: 8, since: 5, jobs: '1', ranks: '0', running: 0, failing: 0, ...more };
  return [id, it.team, it.name, it.flags, it.since, it.jobs, it.ranks, it.running, it.failing, it.vars ?? 0, it.pause].filter((one) => one !== undefined);
};
const taken = (...items) => {
  const pipelines = new Pipelines();
  pipelines.take({ boot: 'b', v: 1, items });
  return pipelines;
};
const ids = (pipelines) => [...pipelines.all.keys()];

test('the status of a pipeline is its worst job, by the rule of Concourse', () => {
  for (const [paused, archived, jobs, status] of [
    [false, false, '1123', 'failed'], [false, false, '113', 'errored'], [false, false, '141', 'aborted'], [false, false, '1b', 'succeeded'],
    [false, false, '5a', 'pending'], [false, false, '', 'pending'], [false, false, '1h', 'succeeded'], [true, false, '2', 'paused'], [true, true, '2', 'archived'],
  ]) assert.equal(statusOf(paused, archived, jobs), status, jobs);
});

test('a cell shows what goes on before what was', () => {
  assert.deepEqual([...'01234579acfgkp'].map(cellOf), ['pending', 'succeeded', 'failed', 'errored', 'aborted', 'pending', 'pending', 'pending',
    'started', 'started', 'paused', 'paused', 'paused', 'started']);
});

test('patches change, add, remove and order; old ones change nothing', () => {
  const pipelines = taken(item(1), item(2), item(3));
  assert.ok(pipelines.patch({ boot: 'b', v: 2, items: [item(2, { name: 'new' }), item(4)], gone: [1], order: [4, 3, 2] }));
  assert.deepEqual(ids(pipelines), [4, 3, 2]);
  assert.equal(pipelines.all.get(2).name, 'new');
  assert.ok(!pipelines.patch({ boot: 'b', v: 2, gone: [2] }));
  assert.deepEqual(ids(pipelines), [4, 3, 2]);
});

test('instances of one name are one card with the worst status', () => {
  const pipelines = taken(item(1, { name: 'a' }), item(2, { name: 'a', vars: { x: 1 }, jobs: '2', since: 9 }), item(3), item(4, { name: 'b', vars: { y: 'z' } }));
  const shown = gather([...pipelines.all.values()]);
  assert.deepEqual(shown.map((one) => [one.key, one.status, one.members?.length]), [['g:main/a', 'failed', 2], ['p3', 'succeeded', undefined], ['g:main/b', 'succeeded', 1]]);
  assert.equal(shown[0].since, 9);
  assert.equal(shown[0].href, '/?search=team%3A%22main%22+group%3A%22a%22');
});

test('sections are favourites, then teams in their order', () => {
  const pipelines = taken(item(1), item(2, { team: 'b' }), item(3, { name: 'g', vars: { v: 1 } }));
  const all = [...pipelines.all.values()];
  const keys = (how) => sections(all, { by: 'team', stars: new Set(), flat: false, sort: '', ...how }).map((one) => [one.key, one.entries.map((entry) => entry.key)]);
  assert.deepEqual(keys({}), [['team:main', ['p1', 'g:main/g']], ['team:b', ['p2']]]);
  assert.deepEqual(keys({ stars: new Set(['p2', 'p3']) })[0], ['stars', ['p2', 'p3']]);
  assert.deepEqual(keys({ flat: true }), [['team:main', ['p1', 'p3']], ['team:b', ['p2']]]);
  assert.deepEqual(keys({ by: 'none', sort: 'name' }), [['all', ['g:main/g', 'p1', 'p2']]]);
});

test('counters count what is not archived', () => {
  const pipelines = taken(item(1, { jobs: 'b5', running: 2 }), item(2, { jobs: '2' }), item(3, { flags: 2 }), item(4, { flags: 1 }));
  const { by, running, waiting } = counts([...pipelines.all.values()]);
  assert.deepEqual([by.succeeded, by.failed, by.running, by.paused, running, waiting], [1, 1, 1, 1, 1, 1]);
});

test('addresses keep names and vars apart from the path', () => {
  assert.equal(pipelineUrl('a/b', 'c?d', null, '/jobs'), '/teams/a%2Fb/pipelines/c%3Fd/jobs');
  assert.equal(pipelineUrl('t', 'p', { b: 2, a: 'x&y' }), '/teams/t/pipelines/p?vars.a=%22x%26y%22&vars.b=2');
  assert.equal(pipelineUrl('t', 'p', { a: { b: 1 } }), '/teams/t/pipelines/p?vars=%7B%22a%22%3A%7B%22b%22%3A1%7D%7D');
  assert.equal(decode(item(1, { vars: { a: { b: 1 }, c: 'd' } })).varsText, 'a.b: 1, c: d');
});

test('cells stand in columns by rank, within their room', () => {
  const room = { width: 230, height: 46 };
  const few = placeCells(3, '011', room);
  assert.deepEqual(few.cells, [{ x: 0, y: 11, at: 0 }, { x: 28, y: 0, at: 1 }, { x: 28, y: 22, at: 2 }]);
  assert.equal(few.wire, 'M16 19H22M22 8H28M22 30H28M22 8V30');
  for (let count = 1; count < 900; count += 7) {
    const ranks = Array.from({ length: count }, (_, at) => Math.min(35, at % 40).toString(36)).join('');
    for (const own of [ranks, '', '0'.repeat(count)]) {
      const placed = placeCells(count, own, room);
      if (!placed) continue;
      assert.ok(placed.width <= room.width && placed.height <= room.height);
      assert.equal(new Set(placed.cells.map(({ at }) => at)).size, count);
      assert.equal(new Set(placed.cells.map(({ x, y }) => `${x} ${y}`)).size, count);
    }
  }
  assert.equal(placeCells(100000, '', room), null);
});

test('two readers of a topic miss nothing', () => {
  assert.deepEqual(splitTopic('build:12@3f-7'), { topic: 'build:12', position: '3f-7' });
  assert.deepEqual(splitTopic('workers'), { topic: 'workers', position: '' });
  assert.equal(earlier('a-7', 'a-12'), 'a-7');
  assert.equal(earlier('a-7', 'b-2'), '');
  assert.equal(earlier('', 'b-2'), '');
});
