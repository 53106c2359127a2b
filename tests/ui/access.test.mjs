// Who sees what: strangers on exposed pipelines, logins on the way, hostile names.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Browser, logIn } from './lib/browser.mjs';
import { hello } from './lib/pipelines.mjs';
import { Server } from './lib/server.mjs';

let server;
let browser;
let build;
before(async () => {
  [server, browser] = [await Server.start(), await Browser.start()];
  await server.setPipeline('hello', hello);
  await server.setPipeline('secret', hello);
  await server.ask('PUT', '/api/v1/teams/main/pipelines/hello/expose');
  build = await server.finished((await server.trigger('hello', 'greet')).id);
});
after(async () => { await browser?.stop(); await server?.stop(); });

test('a stranger is led to the login and back', async () => {
  const page = await (await browser.profile()).newPage();
  await page.goto(`${server.url}/teams/main/pipelines/secret`);
  await page.fill('#login', 'test');
  await page.fill('#password', 'test');
  await page.click('form button');
  await page.waitForURL(`${server.url}/teams/main/pipelines/secret`);
});

test('a stranger sees an exposed pipeline and the output of its public job, and no button', async () => {
  const page = await (await browser.profile()).newPage();
  await page.goto(`${server.url}/teams/main/pipelines/hello/jobs/greet/builds/${build.name}`);
  assert.equal(await page.locator('button[data-act="send"]').count(), 0);
  await page.locator('[data-step-name="greet"] summary').first().click();
  await page.getByText('hello from a task').first().waitFor();
});

test('a user of no team is told so', async () => {
  const page = await (await browser.profile()).newPage();
  const answer = await page.goto(`${server.url}/login`).then(() => logIn(page, server, 'other')).then(() => page.goto(`${server.url}/teams/main/pipelines/secret`));
  assert.equal(answer.status(), 403);
});

test('an expired login leads to the login', async () => {
  const profile = await browser.profile();
  const page = await profile.newPage();
  await logIn(page, server);
  const cookies = await profile.cookies();
  await profile.addCookies(cookies.filter((cookie) => cookie.name === 'skymarshal_auth').map((cookie) => ({ ...cookie, value: '"bearer gone"' })));
  await page.goto(`${server.url}/teams/main/pipelines/secret`);
  await page.locator('#password').waitFor();
});

test('nothing went wrong in the consoles', () => assert.deepEqual(browser.errors, []));
