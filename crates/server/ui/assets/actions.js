// Requests that change something: buttons and forms that say which, toasts, and questions.
import { icon, iconButton, make, meta } from './dom.js';
import { refreshParts } from './live.js';

/** Time in milliseconds for which a toast stays. Errors stay until they are closed. */
const TOAST_MS = 4000;
const MAX_TOASTS = 4;

/**
 * Shows a line at the bottom of the window.
 * @param {string} text
 * @param {'failed' | 'succeeded' | 'pending'} [status]
 */
export function toast(text, status = 'succeeded') {
  const place = document.getElementById('toasts');
  if (!place) return;
  const shown = make('div', { class: `float toast s-${status}` }, make('span', { class: 'toast-line' }),
    icon(`g-${status}`, 'glyph'), make('span', { class: 'grow' }, text));
  const close = iconButton('i-x', 'Close', { click: () => shown.remove() });
  shown.append(close);
  place.append(shown);
  while (place.children.length > MAX_TOASTS) place.firstElementChild?.remove();
  if (status !== 'failed') setTimeout(() => shown.remove(), TOAST_MS);
}

/**
 * Sends a request with the proof that it comes from a page of this server. A refusal is shown in the
 * server's words, and none is returned.
 * @param {string} method
 * @param {string} url
 * @param {unknown} [body] sent as JSON
 * @returns {Promise<Response | null>}
 */
export async function send(method, url, body) {
  const headers = { 'X-Csrf-Token': meta('csrf') };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  const request = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
  try {
    const response = await fetch(url, request);
    if (response.ok) return response;
    toast(await refusal(response), 'failed');
  } catch {
    toast('The server does not answer. Nothing was changed, as far as this page knows.', 'failed');
  }
  return null;
}

async function refusal(response) {
  const text = (await response.text()).trim().slice(0, 500);
  if (response.status === 401) return 'You are not logged in any more. Log in and try again.';
  if (response.status === 403) return text || 'Your role does not allow this.';
  try {
    const told = JSON.parse(text);
    return told.errors?.join('; ') ?? told.error ?? text;
  } catch {
    return text && !text.startsWith('<') ? text : `The server refused this (${response.status}).`;
  }
}

/**
 * Asks in a dialog. Returns the text (empty for a question without a field), or null.
 * @param {{ text: string, label?: string, value?: string, button?: string, danger?: boolean, multiline?: boolean }} question
 * @returns {Promise<string | null>}
 */
export function ask(question) {
  const field = question.label === undefined ? null
    : make(question.multiline ? 'textarea' : 'input', { class: 'ask-field', rows: question.multiline && 4, 'aria-label': question.label || question.text });
  if (field) field.value = question.value ?? '';
  const kind = question.danger ? 'btn btn-danger' : 'btn btn-primary';
  const dialog = make('dialog', { class: 'float ask', 'aria-label': question.text },
    make('form', { method: 'dialog' },
      make('p', { class: 'strong' }, question.text),
      field && (question.label ? make('label', {}, make('span', { class: 'label' }, question.label), field) : field),
      make('div', { class: 'row ask-row' }, make('span', { class: 'grow' }),
        make('button', { class: 'btn btn-quiet', value: '' }, 'Cancel'),
        make('button', { class: kind, value: 'yes', autofocus: !field }, question.button ?? 'Yes'))));
  // Enter in the field means yes, though Cancel stands first.
  field?.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || (question.multiline && !event.ctrlKey && !event.metaKey)) return;
    event.preventDefault();
    dialog.close('yes');
  });
  document.body.append(dialog);
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes' ? field?.value ?? '' : null);
    });
    dialog.showModal();
    field?.focus();
  });
}

/**
 * Does what a button says by its data: `data-method`, `data-url`, `data-body` (JSON), `data-confirm`,
 * `data-ask` (the field of the body that a dialog asks for, with `data-ask-text`, `data-ask-value`),
 * `data-parts`, `data-goto`, `data-done` (the words of a toast).
 * @param {HTMLElement} button
 */
export async function act(button) {
  const told = button.dataset;
  if (button.getAttribute('aria-busy') === 'true' || !told.url) return;
  let body = told.body ? JSON.parse(told.body) : undefined;
  if (told.ask) {
    const text = told.askText ?? 'Comment';
    const answer = await ask({ text, label: '', value: told.askValue, button: told.askButton ?? 'Save' });
    if (answer === null) return;
    body = { ...body, [told.ask]: answer };
  }
  if (told.confirm && (await ask({ text: told.confirm, button: told.yes, danger: true })) === null) return;
  button.setAttribute('aria-busy', 'true');
  try {
    const response = await send(told.method ?? 'PUT', told.url, body);
    if (response) await done(told, response);
  } finally {
    button.removeAttribute('aria-busy');
  }
}

async function done(told, response) {
  if (told.done) toast(told.done);
  if (told.goto) {
    const to = told.goto === 'latest' ? await buildUrl(response) : told.goto;
    if (to) location.assign(to);
    return;
  }
  if (told.parts) await refreshParts(told.parts.split(','));
}

/** Returns the page of the build that the server answered with. */
async function buildUrl(response) {
  const build = await response.json().catch(() => null);
  if (!build?.id) return null;
  const job = /^\/teams\/[^/]+\/pipelines\/[^/]+\/jobs\/[^/]+/.exec(location.pathname);
  if (!job || !build.job_name) return `/builds/${build.id}`;
  const vars = [...new URLSearchParams(location.search)].filter(([name]) => /^vars[.=]?/.test(name));
  const query = new URLSearchParams(vars).toString();
  return `${job[0]}/builds/${encodeURIComponent(build.name)}${query && `?${query}`}`;
}

/** Sends a form as JSON of its named fields. */
export async function submit(form) {
  const fields = Object.fromEntries(new FormData(form));
  form.dataset.body = JSON.stringify({ ...JSON.parse(form.dataset.fixed ?? '{}'), ...fields });
  await act(form);
}
