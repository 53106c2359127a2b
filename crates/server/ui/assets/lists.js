// Pages of lists: jobs, resources, teams. The order of pipelines, names that are typed before something
// is destroyed, the two builds to compare, and versions that open where they stand.
import { refreshParts, registerKeys } from './page.js';

/** The largest number of opened versions, as the server has it. */
const MAX_OPENED = 16;

/** Fills the body of a move before `page.js` sends it, which listens later, in the bubble. */
document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const button = target?.closest('[data-moves]');
  if (button instanceof HTMLButtonElement && !move(button)) event.stopPropagation();
}, true);

/**
 * Returns false at the ends of the list, where there is nothing to send.
 * @param {HTMLButtonElement} button
 */
function move(button) {
  const row = button.closest('tr');
  const rows = [...(row?.parentElement?.querySelectorAll('tr[data-order]') ?? [])];
  const names = rows.map((one) => one instanceof HTMLElement ? one.dataset.order ?? '' : '');
  const at = names.indexOf(row?.dataset.order ?? '');
  const to = button.dataset.moves === 'up' ? at - 1 : at + 1;
  if (at < 0 || to < 0 || to >= names.length) return false;
  [names[at], names[to]] = [names[to], names[at]];
  button.dataset.body = JSON.stringify(names);
  return true;
}

/** What is destroyed has its name typed first. */
document.addEventListener('input', (event) => {
  const field = event.target;
  if (!(field instanceof HTMLInputElement) || field.dataset.typed === undefined) return;
  const button = field.form?.querySelector('button');
  if (button instanceof HTMLButtonElement) button.disabled = field.value !== field.dataset.typed;
});

document.addEventListener('change', (event) => {
  const field = event.target;
  if (field instanceof HTMLInputElement && field.dataset.pick !== undefined) pick(field);
});

/** Keeps the last two builds that were chosen, and leads to their comparison. */
let picked = /** @type {string[]} */ ([]);

/** @param {HTMLInputElement} field */
function pick(field) {
  const name = field.dataset.pick ?? '';
  picked = picked.filter((one) => one !== name);
  if (field.checked) picked.push(name);
  for (const gone of picked.splice(0, Math.max(0, picked.length - 2))) {
    for (const box of document.querySelectorAll('[data-pick]')) {
      if (box instanceof HTMLInputElement && box.dataset.pick === gone) box.checked = false;
    }
  }
  const link = document.getElementById('compare');
  if (!(link instanceof HTMLAnchorElement)) return;
  link.hidden = picked.length < 2;
  if (link.hidden) return;
  const [older, newer] = [...picked].sort((a, b) => Number(a) - Number(b));
  const [path, query] = (link.dataset.base ?? '').split('?');
  const rest = query ? `&${query}` : '';
  link.href = `${path}/${encodeURIComponent(newer)}?tab=compare&with=${encodeURIComponent(older)}${rest}`;
  link.textContent = `Compare ${older} with ${newer}`;
}

/** Opens and closes a version in place; the address remembers which are open. */
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-opens]') : null;
  if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const part = link.dataset.opens ?? '';
  const isOpen = link.getAttribute('aria-expanded') === 'true';
  remember(part.slice(1), !isOpen);
  if (isOpen) close(link);
  else refreshParts([part]);
});

/** @param {string} id @param {boolean} isOpen */
function remember(id, isOpen) {
  const address = new URL(location.href);
  const open = (address.searchParams.get('open') ?? '').split(',').filter((one) => one && one !== id);
  if (isOpen) open.push(id);
  if (open.length) address.searchParams.set('open', open.slice(-MAX_OPENED).join(','));
  else address.searchParams.delete('open');
  history.replaceState(history.state, '', address);
}

/** @param {HTMLAnchorElement} link */
function close(link) {
  const version = link.closest('.version');
  version?.classList.remove('is-open');
  version?.querySelector('.version-body')?.remove();
  link.setAttribute('aria-expanded', 'false');
}

/** @param {string} key @param {string} text @param {string} selector */
function presses(key, text, selector) {
  const find = () => /** @type {HTMLElement | null} */ (document.querySelector(`#head ${selector}, .pager ${selector}`));
  if (find()) registerKeys([{ key, text, run: () => find()?.click() }]);
}

presses('T', 'Trigger', 'button[data-goto="latest"]:not([disabled])');
presses('p', 'Pause or unpause', 'button[data-url*="pause"]:not([disabled])');
presses('c', 'Check now', 'button[data-url*="/check"]:not([disabled])');
presses('h', 'Newer', 'a[rel="prev"]');
presses('l', 'Older', 'a[rel="next"]');
