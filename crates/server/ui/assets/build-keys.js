// Keys of the page of a build.
import { registerKeys, toast } from './page.js';

const press = (name) => document.querySelector(`.head-actions [data-action="${name}"]:not(:disabled)`)
  ?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true }));

/** Goes to the build beside this one: to the left are newer ones. */
function neighbour(by) {
  const tabs = [...document.querySelectorAll('#tabs .strip a[data-key]')];
  const here = tabs.findIndex((tab) => tab.hasAttribute('aria-current'));
  const next = here < 0 ? null : tabs[here + by];
  if (next instanceof HTMLAnchorElement) location.assign(next.href);
}

const isBad = (step) => /failed|errored/.test(step.getAttribute('data-state') ?? '');

/** Goes to the next step that failed, or the one before. */
function failure(by, reveal) {
  const bad = [...document.querySelectorAll('.step')].filter((step) => isBad(step) && step.querySelector(':scope > .step-body > .step-foot'));
  if (bad.length === 0) return toast('No step failed', 'pending');
  const tops = bad.map((step) => step.getBoundingClientRect().top - 120);
  const found = by > 0 ? tops.findIndex((top) => top > 4) : tops.findLastIndex((top) => top < -4);
  const step = bad[found < 0 ? (by > 0 ? 0 : bad.length - 1) : found];
  reveal(step.firstElementChild ?? step);
  scrollTo({ top: step.getBoundingClientRect().top + scrollY - 120 });
  step.querySelector('summary')?.focus({ preventScroll: true });
}

/** Opens or closes the step that has the focus, or else the first below the top of the window. */
function toggleStep() {
  const steps = [...document.querySelectorAll('details.step')];
  const step = document.activeElement?.closest('details.step') ?? steps.find((one) => one.getBoundingClientRect().top >= 48);
  if (step instanceof HTMLDetailsElement) step.open = !step.open;
}

function toggleAll() {
  const all = [...document.querySelectorAll('details.step:not(.is-off)')].filter((step) => step instanceof HTMLDetailsElement);
  const open = all.some((step) => !step.open);
  for (const step of all) step.open = open;
}

async function copyAddress() {
  try {
    await navigator.clipboard.writeText(location.href);
    toast('Address copied');
  } catch {
    toast('This browser does not let the page copy', 'pending');
  }
}

/**
 * Registers the keys.
 * @param {{ reveal(element: Element): void, toEnd(): void, hit(by: number): void, wrap(): void, times(): void }} page
 */
export function buildKeys(page) {
  registerKeys([
    { key: 'h', text: 'Newer build', run: () => neighbour(-1) },
    { key: 'l', text: 'Older build', run: () => neighbour(1) },
    { key: 'j', text: 'Scroll down', run: () => scrollBy({ top: 60 }) },
    { key: 'k', text: 'Scroll up', run: () => scrollBy({ top: -60 }) },
    { key: 'g g', text: 'Top', run: () => scrollTo({ top: 0 }) },
    { key: 'G', text: 'End, and follow', run: page.toEnd },
    { key: 'T', text: 'Trigger', run: () => press('trigger') },
    { key: 'R', text: 'Rerun', run: () => press('rerun') },
    { key: 'A', text: 'Abort', run: () => press('abort') },
    { key: ']', text: 'Next failure', run: () => failure(1, page.reveal) },
    { key: '[', text: 'Failure before', run: () => failure(-1, page.reveal) },
    { key: 'e', text: 'Open or close the step', run: toggleStep },
    { key: 'E', text: 'Open or close all steps', run: toggleAll },
    { key: 'n', text: 'Next hit', run: () => page.hit(1) },
    { key: 'N', text: 'Hit before', run: () => page.hit(-1) },
    { key: 'w', text: 'Wrap lines', run: page.wrap },
    { key: 't', text: 'Times of lines', run: page.times },
    { key: 'c', text: 'Copy the address', run: copyAddress },
  ]);
}
