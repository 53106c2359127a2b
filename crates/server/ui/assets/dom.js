// Elements from names, attributes and children. Text stays text: nothing here reads HTML.

const SVG = 'http://www.w3.org/2000/svg';
const DRAWN = new Set(['svg', 'use', 'path', 'rect', 'g', 'title', 'svg:a']);

/**
 * Makes an element; `svg:a` is a link in a drawing. Attributes of value `false`, `null` or `undefined` are left out; `true` is an
 * empty attribute; a function is a listener.
 * @param {string} name
 * @param {Record<string, unknown>} [attributes]
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {any}
 */
export function make(name, attributes = {}, ...children) {
  const element = DRAWN.has(name) ? document.createElementNS(SVG, name.replace('svg:', '')) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (typeof value === 'function') element.addEventListener(key, /** @type {any} */ (value));
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(/** @type {any} */ (child));
  }
  return element;
}

/** Makes an icon, such as `i-pause`. The page must carry its symbol. */
export function icon(id, classes = 'icon') {
  return make('svg', { class: classes, 'aria-hidden': 'true' }, make('use', { href: `#${id}` }));
}

/** Makes the glyph of a status. Readers skip it: the status is beside it as a word. */
export function glyph(status, classes = 'glyph-14') {
  return icon(`g-${status}`, `glyph ${classes} s-${status}`);
}

/** Makes a button that is an icon; its label is read and shown on hover. */
export function iconButton(id, label, attributes = {}) {
  const plain = { type: 'button', class: 'icon-btn icon-btn-24', 'aria-label': label, title: label };
  return make('button', { ...plain, ...attributes }, icon(id, 'icon icon-14'));
}

/** Returns the content of a `<meta>` of the page. */
export function meta(name) {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';
}

/** Reads what this browser keeps; none if it keeps nothing or what it keeps cannot be read. */
export function kept(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`airside.${name}`) ?? 'null') ?? otherwise;
  } catch {
    return otherwise;
  }
}

/** Keeps a value in this browser. A browser that keeps nothing forgets it with the page. */
export function keep(name, value) {
  try {
    localStorage.setItem(`airside.${name}`, JSON.stringify(value));
  } catch {
    // Storage is full or forbidden: the page works without it.
  }
}
