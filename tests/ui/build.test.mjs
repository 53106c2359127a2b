// The page of a build: steps and their output, linked lines, find, following, aborting; attempts, across, and reasons.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, logIn } from './lib/browser.mjs';
import { task } from './lib/pipelines.mjs';
import { until } from './lib/until.mjs';
import { world } from './lib/world.mjs';

const slow = { jobs: [{ name: 'count', plan: [task('ticks', 'for i in $(seq 1 400); do echo "tick $i"; sleep 0.1; done')] }] };

let it;
let browser;
let page;
before(async () => {
  it = await world();
  await it.server.setPipeline('slow', slow);
  browser = await Browser.start();
  page = await (await browser.profile()).newPage();
  await logIn(page, it.server);
});
after(async () => { await browser?.stop(); await it?.server.stop(); });

const open = async (address) => {
  await page.goto('about:blank');
  await page.goto(it.server.url + address);
};
const line = (text) => page.locator('.line', { hasText: text });

test('what failed is open, attempts are tabs, hooks are told from steps', async () => {
  await open(`/builds/${it.builds.failed.id}`);
  await page.locator('h1', { hasText: 'everything #1' }).waitFor();
  const flaky = page.locator('.step[data-step-name="flaky"]');
  assert.equal(await flaky.getAttribute('data-state'), 'failed');
  await flaky.locator('.step-foot:visible', { hasText: 'exit 1' }).waitFor();
  await flaky.locator('.attempts a', { hasText: '1' }).first().click();
  await page.locator('.chip', { hasText: 'on_failure' }).waitFor();
  await page.locator('.step[data-step-name="notify"]').locator('summary').click();
  await line('told the team').waitFor();
});

test('combinations are a table, and each has its output', async () => {
  await open(`/builds/${it.builds.matrix.id}`);
  await page.locator('.step[data-step-kind="across"] > summary').click();
  assert.deepEqual(await page.locator('.across thead th').allTextContents(), ['status', 'db', 'end', 'time', 'where']);
  await page.locator('.step[data-step-name="test"] > summary', { hasText: 'postgres' }).click();
  await line('testing with postgres').waitFor();
});

test('output has colours, is text, and its lines can be linked and found', async () => {
  await open(`/builds/${it.builds.colours.id}`);
  await page.locator('.step[data-step-name="print"] > summary').click();
  await line('<b>no html</b>').waitFor();
  assert.equal(await page.locator('.line b').count(), 0);
  assert.equal(await page.locator('.line .a1', { hasText: 'red' }).count(), 1);
  assert.ok(await page.locator('.line').count() < 300, 'only what is seen is drawn');
  const numbers = page.locator('.line > a:first-child');
  await numbers.nth(2).click();
  await numbers.nth(4).click({ modifiers: ['Shift'] });
  const hash = await page.evaluate(() => location.hash);
  assert.match(hash, /^#L[^:]+:3:5$/);
  await open(`/builds/${it.builds.colours.id}${hash.replace(':3:5', ':2900:2901')}`);
  await page.locator('.line.is-marked').nth(1).waitFor();
  const { y } = await page.locator('.line.is-marked').first().boundingBox();
  assert.ok(y > 48 && y < 500, `the line is at ${y}`);
  await page.keyboard.press('Control+f');
  await page.keyboard.type('2345');
  await page.locator('#find-count', { hasText: '/ 1' }).waitFor();
  await page.keyboard.press('Enter');
  await page.locator('mark.is-at', { hasText: '2345' }).waitFor();
});

test('a running build is followed, left alone when one scrolls, and aborted after a question', async () => {
  const { id } = await it.server.trigger('slow', 'count');
  await open(`/builds/${id}`);
  await line('tick 40').waitFor();
  const shown = async () => Number(await page.locator('.line').last().getAttribute('data-number'));
  const before = await shown();
  await until('further lines are shown', async () => (await shown()) > before + 20);
  await page.mouse.move(600, 500);
  await page.mouse.wheel(0, -2000);
  await page.locator('.log-more', { hasText: 'new line' }).waitFor();
  const y = await page.evaluate(() => scrollY);
  await page.waitForFunction((from) => !document.querySelector('.log-more')?.textContent?.startsWith(from), await page.locator('.log-more').textContent());
  assert.equal(await page.evaluate(() => scrollY), y);
  await page.locator('.log-more').click();
  const numbers = await page.locator('.line').evaluateAll((all) => all.map((one) => Number(one.getAttribute('data-number'))));
  assert.ok(numbers.every((number, at) => at === 0 || number === numbers[at - 1] + 1), 'no line is lost or doubled');
  await page.keyboard.press('A');
  await page.locator('dialog button', { hasText: 'Yes' }).click();
  await page.locator('#head[data-status="aborted"]').waitFor();
  assert.match(await page.title(), /^⊘/);
});

test('a build that waits says for what', async () => {
  await open(`/builds/${it.builds.waiting.id}`);
  await page.locator('.reasons .is-now').first().waitFor();
  await page.locator('.reasons', { hasText: 'never' }).waitFor();
});

test('nothing went wrong in the console', () => assert.deepEqual(browser.errors, []));
