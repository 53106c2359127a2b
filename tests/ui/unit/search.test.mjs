// The search language over the table that the walks in a browser use, too.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { Pipelines, groupKey } from '../../../crates/server/ui/assets/dash-data.js';
import { matches, parse, suggest, wantsArchived } from '../../../crates/server/ui/assets/search.js';

const table = JSON.parse(readFileSync(new URL('./search.json', import.meta.url), 'utf8'));
const pipelines = new Pipelines();
pipelines.take({ items: table.pipelines });
for (const id of table.stars) pipelines.all.get(id).star = true;
const having = (key, term) => (table.having[`${key}:${term.text}`] ? new Set(table.having[`${key}:${term.text}`]) : null);

for (const [text, expected] of table.cases) {
  test(`search: ${text || 'nothing'}`, () => {
    const terms = parse(text);
    const found = [...pipelines.all.values()].filter((one) => matches(terms, one, { now: table.now, having }));
    assert.deepEqual(found.map((one) => one.id), expected);
  });
}

test('archived pipelines are shown to those who ask for them', () => {
  assert.ok(wantsArchived(parse('web is:archived')));
  assert.ok(!wantsArchived(parse('web -is:archived')));
});

test('suggestions go on where one types', () => {
  const names = { teams: ['main', 'a b'], groups: ['deploy'] };
  const shown = (text) => suggest(text, names).map((one) => one.search);
  assert.deepEqual(shown('web st'), ['web status:']);
  assert.deepEqual(shown('-te'), ['-team:']);
  assert.deepEqual(shown('team:'), ['team:"main" ', 'team:"a b" ']);
  assert.deepEqual(shown('x group:"dep'), ['x group:"deploy" ']);
  assert.deepEqual(shown('is:pa'), ['is:paused ']);
  assert.deepEqual(shown('zzz'), []);
});

test('a hostile search is read in bounded time', () => {
  const long = `${'"'.repeat(5000)} ${'-'.repeat(5000)} ${'a:'.repeat(5000)}`;
  assert.ok(parse(long).length <= 32);
  assert.equal(groupKey({ team: 'a', name: 'b' }), 'g:a/b');
});
