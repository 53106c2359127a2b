// The field of the search in output, its switches, and its count.

/**
 * Wires the field up. Returns what a click on one of its switches does.
 * @param {import('./log-find.js').Find} find
 * @param {(hit: { step: string, line: number } | null) => void} goTo
 */
export function findField(find, goTo) {
  const field = document.getElementById('find');
  if (!(field instanceof HTMLInputElement)) return () => {};
  const isOn = (name) => document.querySelector(`[data-log="${name}"]`)?.getAttribute('aria-pressed') === 'true';
  const look = () => find.start(field.value, { regex: isOn('regex'), matchCase: isOn('case') });
  let typing = 0;
  field.addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(look, 200);
  });
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') goTo(find.move(event.shiftKey ? -1 : 1));
    if (event.key !== 'Escape') return;
    field.value = '';
    look();
    field.blur();
  });
  document.addEventListener('keydown', (event) => {
    const isFind = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === 'f';
    // The second time it is the browser's own.
    if (!isFind || document.activeElement === field || !field.checkVisibility()) return;
    event.preventDefault();
    field.select();
  });
  const asked = new URLSearchParams(location.search).get('find');
  if (asked) {
    field.value = asked;
    look();
  }
  return (button) => {
    button.setAttribute('aria-pressed', String(!isOn(button.dataset.log)));
    look();
  };
}

/** Shows which hit is at hand, of how many. */
export function showCount(find) {
  const count = document.getElementById('find-count');
  if (count) count.textContent = find.words();
}
