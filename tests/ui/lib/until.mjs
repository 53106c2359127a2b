// Waiting for conditions, never for time to pass.
const LIMIT_MS = 60_000;

/** Calls `look` until it returns something true, and returns that. */
export async function until(what, look, limit = LIMIT_MS) {
  const deadline = Date.now() + limit;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`timed out: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
