// A newcomer's way: an empty installation, a login, a first pipeline, a green build.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, faultsOf, logIn } from './lib/browser.mjs';
import { hello } from './lib/pipelines.mjs';
import { Server } from './lib/server.mjs';

let server;
let browser;
before(async () => { [server, browser] = [await Server.start(), await Browser.start()]; });
after(async () => { await browser?.stop(); await server?.stop(); });

test('an empty installation shows the commands to a first pipeline', async () => {
  const page = await (await browser.profile()).newPage();
  await logIn(page, server);
  assert.equal(new URL(page.url()).search, '', 'the proof of the login is out of the address');
  await page.getByRole('heading', { name: 'No pipelines yet' }).waitFor();
  assert.ok((await page.textContent('main')).includes(`fly -t ci login -c ${server.url}`));
  assert.deepEqual(await faultsOf(page), []);
});

test('the first pipeline appears by itself, and its build gets green', async () => {
  const page = await (await browser.profile()).newPage();
  await logIn(page, server);
  await page.getByRole('heading', { name: 'No pipelines yet' }).waitFor();
  await server.setPipeline('hello', hello);
  const card = page.locator('[data-pipeline-name="hello"]').first();
  await card.waitFor();
  const build = await server.trigger('hello', 'greet');
  await server.finished(build.id);
  await page.locator('[data-pipeline-name="hello"].s-succeeded, [data-pipeline-name="hello"] .s-succeeded').first().waitFor();
});

test('nothing went wrong in the consoles', () => assert.deepEqual(browser.errors, []));
