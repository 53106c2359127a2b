// The side bar: open or closed, and as wide as one wants it. On phones it is a sheet.
import { keep, kept } from './dom.js';

const root = document.documentElement;
const isPhone = () => matchMedia('(max-width: 639px)').matches;

/** Opens or closes the side bar. */
export function toggleSide() {
  if (isPhone()) {
    root.toggleAttribute('data-sheet');
    return;
  }
  root.toggleAttribute('data-side-closed');
  keep('side', root.hasAttribute('data-side-closed') ? 'closed' : 'open');
}

if (kept('side', 'open') === 'closed') root.toggleAttribute('data-side-closed', true);
const width = Number(kept('side-width', 0));
if (width) setWidth(width);

function setWidth(pixels) {
  root.style.setProperty('--side', `${Math.min(480, Math.max(160, pixels))}px`);
}

document.addEventListener('pointerdown', (event) => {
  const grip = event.target instanceof Element ? event.target.closest('.side-grip') : null;
  if (!grip) {
    if (root.hasAttribute('data-sheet') && event.target instanceof Element && !event.target.closest('.side, .top')) {
      root.removeAttribute('data-sheet');
    }
    return;
  }
  event.preventDefault();
  grip.setPointerCapture(event.pointerId);
  const drag = (moved) => setWidth(moved.clientX);
  grip.addEventListener('pointermove', drag);
  grip.addEventListener('pointerup', (ended) => {
    grip.removeEventListener('pointermove', drag);
    keep('side-width', Math.round(ended.clientX));
  }, { once: true });
});
