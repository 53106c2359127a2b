// The search field: what is typed, what may come next, and the address that says it.
import { make } from './dom.js';
import { suggest } from './search.js';

/**
 * Listens to the search field.
 * @param {HTMLInputElement} field
 * @param {{ names: () => { teams: string[], groups: string[] }, changed: (text: string) => void, leave: () => void }} page
 */
export function searchField(field, page) {
  const list = make('ul', { class: 'float menu suggestions', id: 'suggestions', role: 'listbox', 'aria-label': 'Suggestions', hidden: true });
  field.closest('header')?.append(list);
  for (const [name, value] of [['role', 'combobox'], ['aria-controls', 'suggestions'], ['aria-expanded', 'false'], ['aria-autocomplete', 'list']]) {
    field.setAttribute(name, value);
  }
  /** @type {{ search: string, shown: string }[]} */
  let offered = [];
  let at = -1;

  function offer() {
    offered = suggest(field.value, page.names());
    at = -1;
    list.replaceChildren(...offered.map(({ shown }, index) => make('li', { role: 'option', id: `suggestion-${index}`, 'aria-selected': 'false',
      mousedown: (event) => {
        event.preventDefault();
        take(index);
      } }, shown)));
    open(offered.length > 0 && document.activeElement === field);
    const box = field.closest('label')?.getBoundingClientRect();
    if (box) Object.assign(list.style, { left: `${box.left}px`, width: `${box.width}px` });
  }

  function open(is) {
    list.hidden = !is;
    field.setAttribute('aria-expanded', String(is));
  }

  function choose(index) {
    at = index;
    [...list.children].forEach((option, own) => option.setAttribute('aria-selected', String(own === at)));
    field.setAttribute('aria-activedescendant', at < 0 ? '' : `suggestion-${at}`);
  }

  function take(index) {
    field.value = offered[index].search;
    page.changed(field.value);
    offer();
  }

  field.addEventListener('input', () => {
    page.changed(field.value);
    offer();
  });
  field.addEventListener('focus', offer);
  field.addEventListener('blur', () => open(false));
  field.addEventListener('keydown', (event) => {
    const { key } = event;
    if (key === 'ArrowDown' && !list.hidden) choose(Math.min(at + 1, offered.length - 1));
    else if (key === 'ArrowUp' && at >= 0) choose(at - 1);
    else if ((key === 'Enter' || key === 'Tab') && at >= 0) take(at);
    else if (key === 'Enter' || (key === 'ArrowDown' && list.hidden)) {
      open(false);
      page.leave();
    } else if (key === 'Escape' && !list.hidden) open(false);
    else if (key === 'Escape' && field.value) {
      field.value = '';
      page.changed('');
      offer();
    } else if (key === 'Escape') field.blur();
    else return;
    event.preventDefault();
  });
  // What was typed before this module was here.
  page.changed(field.value);
  offer();
}
