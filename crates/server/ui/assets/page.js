// Every page's module: the theme, copying, menus, and actions that need no page of their own.
document.addEventListener('click', (event) => {
  const target = event.target instanceof Element ? event.target.closest('[data-act]') : null;
  if (!target) return;
  if (target.dataset.act === 'copy') copy(target);
});

/** Copies the text beside the button. */
async function copy(button) {
  const text = button.dataset.copy ?? button.parentElement?.querySelector('code')?.textContent ?? '';
  await navigator.clipboard.writeText(text);
}
