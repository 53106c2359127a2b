// A headless Chromium, from Debian's package, by playwright-core from the cache (see dev/setup --ui).
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const modules = createRequire(join(process.env.AIRSIDE_UI_MODULES ?? import.meta.dirname, 'package.json'));
const { chromium } = modules('playwright-core');
const AXE = readFileSync(modules.resolve('axe-core/axe.min.js'), 'utf8');

/** One browser for a test file. Every page must end without an error in its console. */
export class Browser {
  static async start() {
    const browser = new Browser();
    browser.inner = await chromium.launch({
      executablePath: process.env.AIRSIDE_CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--font-render-hinting=none', '--disable-lcd-text'],
    });
    browser.errors = [];
    return browser;
  }

  /** A new profile: no cookies, no storage. */
  async profile(options = {}) {
    const context = await this.inner.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(20_000);
    context.on('weberror', (error) => this.errors.push(error.error().message));
    context.on('console', (message) => {
      const text = message.text();
      const isOurs = message.type() === 'error' && !text.startsWith('Failed to load resource');
      if (isOurs) this.errors.push(text);
    });
    return context;
  }

  async stop() { await this.inner.close(); }
}

/** Logs in by the form, as a person does, and ends at the page. */
export async function logIn(page, server, name = 'test') {
  await page.goto(`${server.url}/login`);
  await page.fill('#login', name);
  await page.fill('#password', name);
  await page.click('form button');
  // A user of no team is told so first.
  await page.waitForURL((url) => !url.pathname.startsWith('/sky/') || url.pathname === '/sky/callback');
  const onwards = page.getByText('Go on anyway');
  if (await onwards.isVisible()) await onwards.click();
  await page.waitForURL((url) => !url.pathname.startsWith('/sky/'));
}

/** Runs axe on the page and returns one line for each fault. */
export async function faultsOf(page) {
  await page.evaluate(AXE).catch(() => page.addInitScript(AXE));
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, {
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
  }));
  return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target.join(' ')} (${rule.help})`));
}
