// Moving among pipelines by keys, and what keys do with the one that has the focus.
import { registerKeys } from './keys.js';

/**
 * Registers the keys of the dashboard. Returns a function that gives the focus to the first pipeline.
 * @param {import('./dash-grid.js').Grid} grid
 * @param {{ act: (act: string, entry: any) => void, nextView: () => void, shift: (by: number) => void }} page
 */
export function moveByKeys(grid, page) {
  /** Returns the entry that has the focus, and where it stands. */
  function focused() {
    const element = document.activeElement?.closest('[data-section] [data-key]');
    const key = element?.closest('[data-section]')?.getAttribute('data-section');
    const section = grid.sections.findIndex((part) => part.key === key);
    if (!element || section < 0) return null;
    const at = grid.sections[section].entries.findIndex((entry) => entry.key === element.getAttribute('data-key'));
    return at < 0 ? null : { section, at, entry: grid.sections[section].entries[at] };
  }

  /** Moves the focus by columns and rows, over the ends of sections. */
  function move(right, down) {
    if (grid.sections.length === 0) return;
    const from = focused();
    if (!from) return focusOn(0, 0);
    const { columns } = grid.measure;
    let { section, at } = from;
    at += right + down * columns;
    const size = (index) => grid.sections[index].entries.length;
    if (at < 0 && section > 0) {
      section -= 1;
      const column = down ? from.at % columns : size(section);
      const last = Math.floor((size(section) - 1) / columns) * columns;
      at = Math.min(size(section) - 1, last + column);
    } else if (at >= size(section)) {
      const isLastRow = Math.floor(from.at / columns) === Math.floor((size(section) - 1) / columns);
      if (down && !isLastRow) at = size(section) - 1;
      else if (section + 1 < grid.sections.length) {
        section += 1;
        at = down ? Math.min(size(section) - 1, from.at % columns) : 0;
      } else return;
    }
    if (at >= 0) focusOn(section, at);
  }

  function focusOn(section, at) {
    const element = grid.reveal(grid.sections[section].key, at);
    const link = element?.matches('a') ? element : element?.querySelector('h3 a');
    if (link instanceof HTMLElement) link.focus({ preventScroll: true });
  }

  const onFocused = (act) => () => {
    const at = focused();
    if (at) page.act(act, at.entry);
  };
  registerKeys([
    { key: 'ArrowUp', text: 'Move', shown: ['↑', '↓', '←', '→'], run: () => move(0, -1) },
    { key: 'ArrowDown', run: () => move(0, 1) },
    { key: 'ArrowLeft', run: () => move(-1, 0) },
    { key: 'ArrowRight', run: () => move(1, 0) },
    { key: 'Enter', text: 'Open' },
    { key: 's', text: 'Add to favourites', run: onFocused('star') },
    { key: 'p', text: 'Pause', run: onFocused('pause') },
    { key: '<', text: 'Move forward in its team', run: () => page.shift(-1) },
    { key: '>', text: 'Move back in its team', run: () => page.shift(1) },
    { key: 'v', text: 'Next view', run: page.nextView },
  ].map((entry) => ({ ...entry, section: 'Dashboard, lists' })));
  return () => grid.sections.length > 0 && focusOn(0, 0);
}
