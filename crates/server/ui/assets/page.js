// Every page's module: actions, the theme, copying, ages, menus, keys, and the live stream.
import { act, ask, send, submit, toast } from './actions.js';
import { meta } from './dom.js';
import { registerKeys, showKeys } from './keys.js';
import { banner, follow, refreshParts, start } from './live.js';
import { tick } from './times.js';
import { listStars, showStars, starButton } from './stars.js';
import { toggleSide } from './side.js';

export { ask, banner, follow, refreshParts, registerKeys, send, toast };

/** What a click on an element with `data-act` does. */
const ACTS = {
  copy,
  send: act,
  theme: switchTheme,
  side: toggleSide,
  star: starButton,
  keys: showKeys,
  palette: openPalette,
  dismiss: (button) => button.closest('[data-dismiss]')?.remove(),
};

document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target.closest('[data-act]') : null;
  if (target instanceof HTMLElement && target.tagName !== 'FORM') {
    const run = ACTS[target.dataset.act ?? ''];
    if (run) {
      event.preventDefault();
      run(target);
    }
  }
  closeMenus(event.target);
});

document.addEventListener('submit', (event) => {
  if (!(event.target instanceof HTMLFormElement) || event.target.dataset.act !== 'send') return;
  event.preventDefault();
  submit(event.target);
});

/** Copies the text of `data-copy`, or of the `code` beside the button. */
async function copy(button) {
  const text = button.dataset.copy ?? button.parentElement?.querySelector('code')?.textContent ?? '';
  try {
    await navigator.clipboard.writeText(text);
    toast('Copied');
  } catch {
    // Pages without TLS may not write to the clipboard: select the text instead.
    const code = button.parentElement?.querySelector('code');
    if (code) getSelection()?.selectAllChildren(code);
    toast(code ? 'Selected: press Ctrl+C or ⌘C' : 'This browser does not let the page copy', 'pending');
  }
}

/** Switches between light and dark, and tells the server by a cookie, so that the next page does not flash. */
function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme === 'dark' || (root.dataset.theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  const theme = dark ? 'light' : 'dark';
  root.dataset.theme = theme;
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `airside_theme=${theme}; Path=/; Max-Age=31536000; SameSite=Lax${secure}`;
}

/** Menus are `details`: a click elsewhere, and Escape, close them. */
function closeMenus(target) {
  for (const menu of document.querySelectorAll('details[open].who-menu, details[open][data-menu]')) {
    if (!(target instanceof Node) || !menu.contains(target) || !(target instanceof Element && target.closest('summary'))) {
      menu.removeAttribute('open');
    }
  }
}

document.addEventListener('keydown', (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    openPalette();
  } else if (event.key === 'Escape') {
    const menu = document.querySelector('details[open].who-menu, details[open][data-menu]');
    closeMenus(null);
    menu?.querySelector('summary')?.focus();
  }
});

/** The palette is loaded when it is first opened. */
async function openPalette() {
  const { open } = await import('./palette.js');
  open();
}

function focusSearch() {
  const field = document.querySelector('#search, [data-search]');
  if (field instanceof HTMLInputElement) field.select();
  else openPalette();
}

/** A page that waits for something to exist, such as the first pipeline, is loaded again once it does. */
function reloadOnFirst({ detail }) {
  const waits = document.querySelector(`[data-reload-on="${CSS.escape(detail.topic)}"]`);
  if (waits && detail.items?.length) location.reload();
}
document.addEventListener('airside:state', reloadOnFirst);
document.addEventListener('airside:patch', reloadOnFirst);

/** Returns a command that goes up to the pipeline or the job that the page belongs to. */
const upTo = (pattern) => () => {
  const found = pattern.exec(location.pathname);
  if (found) location.assign(found[0] + location.search);
};

registerKeys([
  { key: '/', text: 'Search', run: focusSearch },
  { key: 'Palette', text: 'Palette', shown: /Mac|iP/.test(navigator.platform) ? ['⌘', 'K'] : ['Ctrl', 'K'] },
  { key: '?', text: 'These keys', run: showKeys },
  { key: 'Escape', text: 'Close' },
  { key: 'g d', text: 'Dashboard', run: () => location.assign('/') },
  { key: 'g b', text: 'Builds', run: () => location.assign('/airside/builds') },
  { key: 'g p', text: 'Pipeline', run: upTo(/^\/teams\/[^/]+\/pipelines\/[^/]+/) },
  { key: 'g j', text: 'Job', run: upTo(/^\/teams\/[^/]+\/pipelines\/[^/]+\/jobs\/[^/]+/) },
  { key: 'g w', text: 'Workers', run: () => location.assign('/airside/workers') },
].map((entry) => ({ ...entry, section: 'Everywhere' })));

tick();
showStars();
listStars();
document.addEventListener('airside:parts', showStars);
document.addEventListener('airside:stars', () => {
  showStars();
  listStars();
});
start();
document.documentElement.dataset.ready = meta('airside-edition');
