// Every page, in both themes and three widths: axe finds nothing, nothing scrolls sideways, the console is silent.
// AIRSIDE_UI_PICTURES=DIR also takes a picture of each.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Browser, faultsOf, logIn } from './lib/browser.mjs';
import { world } from './lib/world.mjs';

const WIDTHS = [390, 1280, 1920];
const THEMES = ['light', 'dark'];
const PICTURES = process.env.AIRSIDE_UI_PICTURES;

let it;
let browser;
let pages;
before(async () => {
  it = await world();
  browser = await Browser.start();
  const { builds } = it;
  const job = '/teams/main/pipelines/steps/jobs/everything';
  pages = {
    dashboard: '/',
    pipeline: '/teams/main/pipelines/web',
    instance: '/teams/main/pipelines/deploy?vars.env=%22prod%22',
    job,
    build: `${job}/builds/${builds.failed.name}`,
    'build-across': `/builds/${builds.matrix.id}`,
    'build-output': `/builds/${builds.colours.id}`,
    'build-waiting': `/builds/${builds.waiting.id}`,
    timeline: `${job}/builds/${builds.failed.name}?tab=timeline`,
    inputs: `${job}/builds/${builds.failed.name}?tab=inputs`,
    compare: `/teams/main/pipelines/web/jobs/unit/builds/2?tab=compare`,
    causality: '/teams/main/pipelines/steps/resources/repo/causality/1/downstream',
    teams: '/airside/teams',
    team: '/airside/teams/main',
    outline: '/teams/main/pipelines/web?view=outline',
    'get-fly': '/download-fly',
    resource: '/teams/main/pipelines/steps/resources/repo',
    builds: '/airside/builds',
    workers: '/airside/workers',
    nothing: '/teams/main/pipelines/none',
  };
});
after(async () => { await browser?.stop(); await it?.server.stop(); });

for (const theme of THEMES) {
  test(`pages are accessible and fit, ${theme}`, async (t) => {
    const profile = await browser.profile();
    await profile.addCookies([{ name: 'airside_theme', value: theme, url: it.server.url }]);
    const page = await profile.newPage();
    await logIn(page, it.server);
    for (const [name, address] of Object.entries(pages)) {
      for (const width of WIDTHS) {
        await t.test(`${name} at ${width}`, async () => {
          await page.setViewportSize({ width, height: 900 });
          await page.goto(it.server.url + address, { waitUntil: 'load' });
          await page.locator('h1').first().waitFor({ state: 'attached' });
          await page.waitForFunction(() => document.documentElement.dataset.ready !== 'no');
          if (PICTURES) {
            mkdirSync(PICTURES, { recursive: true });
            await page.screenshot({ path: join(PICTURES, `${name}-${theme}-${width}.png`) });
          }
          assert.deepEqual(await faultsOf(page), []);
          const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
          assert.ok(wider <= 0, `the page is ${wider} px wider than the window`);
        });
      }
    }
  });
}

test('nothing went wrong in the consoles', () => assert.deepEqual(browser.errors, []));
