// The dashboard: what happens elsewhere appears by itself, and the language of its search finds.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, faultsOf, logIn } from './lib/browser.mjs';
import { hello, web } from './lib/pipelines.mjs';
import { Server } from './lib/server.mjs';

let server;
let browser;
let page;
before(async () => {
  [server, browser] = [await Server.start(), await Browser.start()];
  await server.setPipeline('hello', hello);
  for (const env of ['prod', 'staging']) await server.setPipeline('deploy', web, { vars: { env } });
  await server.setPipeline('rest', hello, { paused: true });
  page = await (await browser.profile()).newPage();
  await logIn(page, server);
  await card('hello').waitFor();
});
after(async () => { await browser?.stop(); await server?.stop(); });

const card = (name) => page.locator(`.card[data-pipeline-name="${name}"]`).first();
const names = () => page.locator('.card h3').allTextContents();
const cards = async (expected) => {
  await page.waitForFunction((count) => document.querySelectorAll('.card').length === count, expected.length);
  assert.deepEqual(await names(), expected);
};

test('pipelines are cards, and instances of one name are one card', async () => {
  await cards(['hello', 'deploy', 'rest']);
  assert.equal(await card('deploy').getAttribute('class').then((classes) => classes.includes('card-stack')), true);
  assert.deepEqual(await faultsOf(page), []);
});

test('a build that is triggered elsewhere runs and ends on the page', async () => {
  const build = await server.trigger('hello', 'greet');
  await server.finished(build.id);
  await page.locator('.card[data-pipeline-name="hello"].s-succeeded').first().waitFor();
  assert.match(await card('hello').textContent(), /succeeded/);
});

test('the search is in the address and survives a reload', async () => {
  await page.keyboard.press('/');
  await page.keyboard.type('-deploy status:paused');
  await cards(['rest']);
  assert.equal(new URL(page.url()).searchParams.get('search'), '-deploy status:paused');
  await page.reload();
  await cards(['rest']);
  await page.fill('#search', '');
  await page.keyboard.press('Escape');
  await cards(['hello', 'deploy', 'rest']);
});

test('the page of a group shows its instances', async () => {
  await card('deploy').getByRole('link').first().click();
  await page.getByRole('heading', { name: 'main / deploy' }).waitFor();
  await cards(['env: prod', 'env: staging']);
  await page.goto(server.url);
});

test('a pipeline is paused and starred by keys', async () => {
  await card('hello').waitFor();
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'hello');
  await page.keyboard.press('p');
  await page.locator('.card[data-pipeline-name="hello"].s-paused').first().waitFor();
  await page.keyboard.press('p');
  await page.locator('.card[data-pipeline-name="hello"].s-succeeded').first().waitFor();
  await page.keyboard.press('s');
  await page.getByRole('heading', { name: 'Favourites', level: 2 }).first().waitFor();
  await page.reload();
  await page.locator('[data-section="stars"] .card[data-pipeline-name="hello"]').waitFor();
});

test('the palette goes to a job', async () => {
  await page.keyboard.press('Control+k');
  await page.locator('dialog[open] input').waitFor();
  await page.keyboard.type('greet');
  await page.getByRole('option', { name: 'hello / greet' }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/teams/main/pipelines/hello/jobs/greet');
  await page.goto(server.url);
});

test('a message on the wall appears while one looks', async () => {
  await card('hello').waitFor();
  await server.ask('PUT', '/api/v1/wall', JSON.stringify({ message: 'database <b>moves</b>' }));
  await page.getByText('database <b>moves</b>').waitFor();
});

test('the page says that the server is away, and goes on when it is back', async () => {
  await server.kill();
  await page.getByText('Cut off since').waitFor();
  await server.restart();
  await page.getByText('Cut off since').waitFor({ state: 'detached' });
  const build = await server.trigger('hello', 'greet');
  await server.finished(build.id);
  await page.waitForFunction(() => !document.documentElement.hasAttribute('data-stale'));
});

test('nothing went wrong in the consoles', () => assert.deepEqual(browser.errors, []));
