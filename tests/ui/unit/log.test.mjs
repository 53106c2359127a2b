// Lines of output: windows that come late, twice or in pieces; colours that can be read; hits in order.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { contrast, readable, rgb } from '../../../crates/server/ui/assets/log-colour.js';
import { Find } from '../../../crates/server/ui/assets/log-find.js';
import { Lines, WINDOW } from '../../../crates/server/ui/assets/log-lines.js';

/** A server with lines of one step. `most` is the number of rows that fit in one answer. */
class Log {
  constructor(total, { most = Infinity, ended = false } = {}) {
    Object.assign(this, { total, most, ended, asked: 0, revision: 0 });
    globalThis.fetch = async (address) => this.answer(new URL(address, 'http://x').searchParams);
  }

  async answer(query) {
    this.asked += 1;
    const { total, ended, revision } = this;
    const settled = ended ? total : Math.max(0, total - 200);
    const tail = Number(query.get('tail') ?? 0);
    const from = tail ? Math.max(1, total - tail + 1) : Number(query.get('from'));
    const count = Math.min(tail || Number(query.get('count')), this.most);
    const rows = [];
    for (let line = from; line < from + count && line <= total; line++) rows.push([0, [[`${line}${line > settled ? ` ${revision}` : ''}`]]]);
    await this.held;
    return { ok: true, json: async () => ({ from, rows, total, settled, ended }) };
  }
}

const texts = (lines, first, last) => Array.from({ length: last - first + 1 }, (_, at) => lines.row(first + at)?.[1][0][0]);

test('a window comes in pieces and once', async () => {
  const log = new Log(1300, { most: 70, ended: true });
  const lines = new Lines('1', 'a');
  await lines.refresh();
  await Promise.all([lines.need(480, 620), lines.need(480, 620), lines.need(600, 700)]);
  assert.deepEqual(texts(lines, 480, 700), Array.from({ length: 221 }, (_, at) => String(480 + at)));
  assert.ok(lines.has(1, 1000) && !lines.has(1, 1001));
  const { asked } = log;
  await lines.need(1, 1000);
  assert.equal(log.asked, asked);
});

test('lines that may still change are fetched anew, and none is lost or doubled while they grow', async () => {
  const log = new Log(0);
  const lines = new Lines('1', 'a');
  for (let total = 0; total <= 6000; total += 337) {
    Object.assign(log, { total, revision: total });
    await lines.refresh();
    if (total === 0) continue;
    const first = Math.max(1, total - 300);
    await lines.need(first, total);
    const settled = Math.max(0, total - 200);
    const expected = Array.from({ length: total - first + 1 }, (_, at) => (first + at > settled ? `${first + at} ${total}` : String(first + at)));
    assert.deepEqual(texts(lines, first, total), expected, `${total}`);
  }
  assert.ok(lines.windows.size <= 24);
});

test('an answer from before a look does not outlive it', async () => {
  const log = new Log(700);
  const lines = new Lines('1', 'a');
  await lines.refresh();
  let release;
  log.held = new Promise((resolve) => (release = resolve));
  const late = lines.need(501, 700);
  log.held = null;
  Object.assign(log, { total: 720, revision: 1 });
  await lines.refresh();
  release();
  await late;
  await lines.need(501, 720);
  assert.deepEqual(texts(lines, 700, 720), Array.from({ length: 21 }, (_, at) => `${700 + at} 1`));
});

test('memory is bounded, the end is known at once, and a glance costs a line', async () => {
  const log = new Log(100_000, { ended: true });
  const lines = new Lines('1', 'a');
  await lines.tail();
  assert.equal(lines.total, 100_000);
  for (let first = 1; first < 100_000; first += WINDOW) await lines.need(first, first);
  assert.ok(lines.windows.size <= 24, `${lines.windows.size}`);
  const growing = new Log(10);
  const watched = new Lines('1', 'a');
  assert.ok(await watched.peek());
  await watched.refresh();
  assert.ok(!(await watched.peek()));
  growing.revision = 1;
  assert.ok(await watched.peek());
});

test('a server that is away is told, and asked again', async () => {
  globalThis.fetch = async () => { throw new TypeError('away'); };
  const lines = new Lines('1', 'a');
  await lines.refresh();
  assert.match(lines.trouble, /does not answer/);
  new Log(3, { ended: true });
  await lines.refresh();
  assert.deepEqual([lines.trouble, lines.total, lines.ended], ['', 3, true]);
});

test('every colour can be read on every paper', () => {
  const papers = [[255, 255, 255], [10, 14, 19], ...Array.from({ length: 256 }, (_, colour) => rgb(colour))];
  for (let colour = 0; colour < 256; colour++) {
    for (const paper of papers) {
      const ink = readable(rgb(colour), paper);
      assert.ok(contrast(ink, paper) >= 4.5, `${rgb(colour)} on ${paper}: ${ink}`);
    }
  }
  assert.deepEqual(rgb('#0a0B0c'), [10, 11, 12]);
  assert.deepEqual([rgb(16), rgb(231), rgb(232), rgb(255)], [[0, 0, 0], [255, 255, 255], [8, 8, 8], [238, 238, 238]]);
});

test('hits come in pieces, go on, and stand in the order of the page', async () => {
  const answers = [
    ['["b",2,[[0,1]]]\n["a",', '7,[[3,1]]]\n{"after":"0-5"}\n'],
    ['["a",1,[[0,2]]]\n', '{"after":null}\n'],
  ];
  const asked = [];
  globalThis.fetch = async (url) => {
    asked.push(new URL(url, 'http://x').searchParams);
    const pieces = answers.shift();
    const encoder = new TextEncoder();
    return { ok: true, body: new ReadableStream({ start: (it) => { pieces.forEach((piece) => it.enqueue(encoder.encode(piece))); it.close(); } }) };
  };
  const find = new Find('1', () => ['a', 'b'], () => {});
  await find.start('x y', { regex: true, matchCase: false });
  assert.deepEqual(find.hits.map((hit) => [hit.step, hit.line]), [['a', 1], ['a', 7], ['b', 2]]);
  assert.deepEqual(asked.map((query) => query.get('after')), [null, '0-5']);
  assert.deepEqual([asked[0].get('q'), asked[0].get('regex'), asked[0].get('case')], ['x y', '1', null]);
  assert.equal(find.words(), '0 / 3');
  assert.deepEqual([find.move(1).line, find.move(-1).line, find.move(1).line], [1, 2, 1]);
  await find.start('', {});
  assert.deepEqual([find.hits.length, find.move(1)], [0, null]);
});
