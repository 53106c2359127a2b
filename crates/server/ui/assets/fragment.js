// The only place where a script turns text into HTML: parts of a page, as this server wrote them.
// They are laid over what is there, so focus, scroll, selection and what the user opened stay.

const policy = globalThis.trustedTypes?.createPolicy('airside-fragment', { createHTML: (text) => text });

/** Elements of `details` that the user opened or closed: a fragment does not undo that. */
const toggled = new WeakSet();
document.addEventListener('click', (event) => {
  const summary = event.target instanceof Element ? event.target.closest('summary') : null;
  if (summary?.parentElement) toggled.add(summary.parentElement);
});

/**
 * Lays the parts in `html` over the elements of the same ids, and returns these ids.
 * @param {string} html
 * @returns {string[]}
 */
export function applyParts(html) {
  const template = document.createElement('template');
  // @ts-ignore: a browser without trusted types takes the text.
  template.innerHTML = policy ? policy.createHTML(html) : html;
  const ids = [];
  for (const part of [...template.content.children]) {
    const old = part.id ? document.getElementById(part.id) : null;
    if (!old) continue;
    keepingFocus(() => morph(old, part));
    ids.push(part.id);
  }
  if (ids.length) document.dispatchEvent(new CustomEvent('airside:parts', { detail: { ids } }));
  return ids;
}

/** Runs what changes the page and gives the focus back to an element that was moved. */
function keepingFocus(change) {
  const focused = document.activeElement;
  change();
  if (focused instanceof HTMLElement && focused !== document.activeElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
  }
}

/**
 * Makes `old` equal to `fresh` with as few changes as possible. `fresh` is used up.
 * @param {Element} old
 * @param {Element} fresh
 */
export function morph(old, fresh) {
  if (old.hasAttribute('data-keep') && fresh.hasAttribute('data-keep')) return;
  if (old.nodeName !== fresh.nodeName) {
    old.replaceWith(document.adoptNode(fresh));
    return;
  }
  if (old.isEqualNode(fresh)) return;
  morphAttributes(old, fresh);
  morphChildren(old, fresh);
}

function morphAttributes(old, fresh) {
  const stays = (name) => name === 'open' && toggled.has(old);
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !stays(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !stays(name)) old.setAttribute(name, value);
  }
}

/** Returns the name by which a child is found again. */
function keyOf(node) {
  return node.nodeType === 1 ? node.id || node.getAttribute('data-key') || '' : '';
}

function morphChildren(old, fresh) {
  const wanted = new Set([...fresh.childNodes].map(keyOf).filter(Boolean));
  const keyed = new Map();
  for (const child of [...old.childNodes]) {
    const key = keyOf(child);
    if (key && wanted.has(key)) keyed.set(key, child);
    else if (key) child.remove();
  }
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = keyOf(child);
    const match = key ? keyed.get(key) : sameKind(at, child);
    if (!match || match.nodeName !== child.nodeName) {
      old.insertBefore(document.adoptNode(child), at);
      continue;
    }
    if (match === at) at = at.nextSibling;
    else move(old, match, at);
    if (match.nodeType === 1) morph(match, /** @type {Element} */ (child));
    else if (match.nodeValue !== child.nodeValue) match.nodeValue = child.nodeValue;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** Returns the next child without a key that is of the same kind as `child`. */
function sameKind(at, child) {
  for (let next = at; next; next = next.nextSibling) {
    if (!keyOf(next) && next.nodeName === child.nodeName) return next;
  }
  return null;
}

/** Moves a child. Browsers that can, keep its scroll, its focus and its animations. */
function move(parent, child, before) {
  if (parent.moveBefore) parent.moveBefore(child, before);
  else parent.insertBefore(child, before);
}
