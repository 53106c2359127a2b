// Ages and durations that grow while the page is open. The texts are those of the server.

/** Returns the time since something, in its largest unit: `40 s`, `3 m`, `2 h`, `8 months`. */
export function ageText(seconds) {
  const age = Math.max(0, Math.floor(seconds));
  if (age < 60) return `${age} s`;
  if (age < 3600) return `${Math.floor(age / 60)} m`;
  if (age < 86400) return `${Math.floor(age / 3600)} h`;
  if (age < 5270400) return `${Math.floor(age / 86400)} d`;
  return `${Math.floor(age / 2635200)} months`;
}

/** Returns a duration in at most two units: `40 s`, `3 m 12 s`, `2 h 5 m`. */
export function durationText(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} m ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole / 60) % 60)} m`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole / 3600) % 24)} h`;
}

/** Milliseconds by which the clock of the server is ahead of this machine's. */
let ahead = 0;

/** Returns the server's time in seconds since 1970. */
export function now() {
  return (Date.now() + ahead) / 1000;
}

/** Sets the clock by a time of the server, in seconds since 1970. */
export function setClock(seconds) {
  ahead = seconds * 1000 - Date.now();
}

/** Writes all ages of the page: `<time datetime data-age>`, and `data-since` in seconds since 1970. */
function write() {
  for (const element of document.querySelectorAll('time[data-age]')) {
    const at = Date.parse(element.getAttribute('datetime') ?? '') / 1000;
    if (Number.isFinite(at)) say(element, ageText(now() - at));
  }
  for (const element of document.querySelectorAll('[data-since]')) {
    const since = Number(element.getAttribute('data-since'));
    if (since > 0) say(element, durationText(now() - since));
  }
}

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Keeps ages true, each second while the page is looked at. */
export function tick() {
  document.addEventListener('airside:hello', (event) => {
    const time = Number(/** @type {CustomEvent} */ (event).detail.now);
    if (time > 0) setClock(time);
  });
  setInterval(() => {
    if (!document.hidden) write();
  }, 1000);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) write();
  });
}
