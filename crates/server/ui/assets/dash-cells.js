// Places of the cells of a card: a cell a job, a column a rank, joined by wires. Pure.

/** Sizes of cells in pixels, with the room beside and below each; the largest that fits is taken. */
const SIZES = [
  { size: 16, right: 12, below: 6, wires: true },
  { size: 12, right: 9, below: 4, wires: true },
  { size: 9, right: 9, below: 3, wires: true },
  { size: 7, right: 5, below: 3, wires: false },
  { size: 6, right: 3, below: 2, wires: false },
  { size: 4, right: 2, below: 2, wires: false },
];

/**
 * @typedef {{ x: number, y: number, at: number }} Cell a place and the number of the job
 * @typedef {{ size: number, width: number, height: number, cells: Cell[], wire: string }} Cells
 */

/**
 * Places the cells of jobs.
 * @param {number} count of jobs
 * @param {string} ranks a digit a job, or nothing
 * @param {{ width: number, height: number }} room
 * @returns {Cells | null} null if even the smallest do not fit: then a bar of shares is drawn
 */
export function placeCells(count, ranks, room) {
  const columns = columnsOf(count, ranks);
  for (const kind of SIZES) {
    const placed = place(columns, kind);
    if (placed.width <= room.width && placed.height <= room.height) return placed;
  }
  // Ranks that are too high or too many are given up for a plain grid, column by column.
  for (const kind of SIZES.slice(2)) {
    const rows = Math.floor((room.height + kind.below) / (kind.size + kind.below));
    const grid = [];
    for (let at = 0; at < count; at += rows) grid.push(range(at, Math.min(count, at + rows)));
    const placed = place(grid, { ...kind, wires: false, right: kind.below });
    if (placed.width <= room.width) return placed;
  }
  return null;
}

/** Places the cells of jobs in one row, as small as they must be. @returns {Cells | null} */
export function placeRow(count, room) {
  const columns = range(0, count).map((at) => [at]);
  const kind = [{ size: 10, right: 2 }, { size: 7, right: 2 }, { size: 4, right: 1 }].find(({ size, right }) => count * (size + right) <= room.width);
  return kind ? place(columns, { ...kind, below: 0, wires: false }) : null;
}

const range = (from, to) => Array.from({ length: to - from }, (_, at) => from + at);

function columnsOf(count, ranks) {
  if (ranks.length !== count) return range(0, count).map((at) => [at]);
  const columns = [];
  for (let at = 0; at < count; at += 1) {
    const rank = Number.parseInt(ranks[at], 36) || 0;
    (columns[rank] ??= []).push(at);
  }
  return columns.filter(Boolean);
}

function place(columns, { size, right, below, wires }) {
  const tallest = Math.max(1, ...columns.map((column) => column.length));
  const height = tallest * (size + below) - below;
  const width = Math.max(1, columns.length) * (size + right) - right;
  const cells = [];
  const middles = columns.map((column, rank) => {
    const top = (height - (column.length * (size + below) - below)) / 2;
    return column.map((at, row) => {
      const y = top + row * (size + below);
      cells.push({ x: rank * (size + right), y, at });
      return y + size / 2;
    });
  });
  return { size, width, height, cells, wire: wires ? wire(middles, size, right) : '' };
}

/** Joins each column to the next by one line between them. */
function wire(middles, size, right) {
  let path = '';
  for (let rank = 0; rank + 1 < middles.length; rank += 1) {
    const from = rank * (size + right) + size;
    const bus = from + right / 2;
    for (const y of middles[rank]) path += `M${from} ${y}H${bus}`;
    for (const y of middles[rank + 1]) path += `M${bus} ${y}H${from + right}`;
    const ends = [...middles[rank], ...middles[rank + 1]];
    const [top, bottom] = [Math.min(...ends), Math.max(...ends)];
    if (top < bottom) path += `M${bus} ${top}V${bottom}`;
  }
  return path;
}

const round = (number) => Math.round(number * 100) / 100;
const box = (x, y, side) => {
  const r = round(side * 0.2);
  const line = round(side - 2 * r);
  return `M${round(x + r)} ${y}h${line}a${r} ${r} 0 0 1 ${r} ${r}v${line}a${r} ${r} 0 0 1-${r} ${r}h-${line}a${r} ${r} 0 0 1-${r}-${r}v-${line}a${r} ${r} 0 0 1 ${r}-${r}z`;
};
/** A box whose line of 1.5 pixels ends where other cells do. */
const frame = (x, y, side) => box(x + 0.75, y + 0.75, side - 1.5);
const bar = (x, y, width, height) => `M${round(x)} ${round(y)}h${round(width)}v${round(height)}h-${round(width)}z`;

const dot = (x, y, r) => `M${round(x - r)} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0-${2 * r} 0z`;

/**
 * Shapes of statuses, so that no colour is needed to tell them apart: what is filled, and what is a line.
 * @type {Record<string, (((x: number, y: number, side: number) => string) | null)[]>}
 */
export const SHAPES = {
  succeeded: [box],
  failed: [(x, y, side) => `M${x} ${y}h${round(side * 0.28)}l${round(side * 0.22)} ${round(side * 0.34)}l${round(side * 0.22)}-${round(side * 0.34)}h${round(side * 0.28)}v${side}h-${side}z`],
  errored: [null, (x, y, side) => `${frame(x, y, side)}M${x + 1} ${round(y + side * 0.58)}L${round(x + side * 0.58)} ${y + 1}M${x + 1} ${y + side - 1}L${x + side - 1} ${y + 1}M${round(x + side * 0.42)} ${y + side - 1}L${x + side - 1} ${round(y + side * 0.42)}`],
  aborted: [(x, y, side) => bar(x + 0.75, y + side / 2, side - 1.5, side / 2 - 0.75), frame],
  started: [(x, y, side) => dot(x + side / 2, y + side / 2, round(side * 0.19)), frame],
  pending: [null, frame],
  paused: [(x, y, side) => bar(x + side * 0.12, y, side * 0.27, side) + bar(x + side * 0.61, y, side * 0.27, side)],
};
