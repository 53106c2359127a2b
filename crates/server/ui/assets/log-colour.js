// Colours of output. The sixteen ANSI colours are classes, which the theme knows. Of the 256 and the
// 24-bit colours the lightness is moved until the text can be read.

const BITS = [[1, 'ab'], [2, 'a-faint'], [4, 'a-italic'], [8, 'a-under'], [32, 'a-struck']];
const LEAST = 4.5;
/** Luminance above which black is easier to read than white. */
const MIDDLE = 0.179;
/** Surfaces of output in both themes, as `--output` has them. */
const PAPER = { light: [255, 255, 255], dark: [10, 14, 19] };

/**
 * Sets a style of the lines' JSON on an element.
 * @param {HTMLElement} element
 * @param {{ f?: number | string, b?: number | string, a?: number }} style
 * @param {boolean} dark
 */
export function paint(element, style, dark) {
  let [ink, paper] = [style.f, style.b];
  const bits = style.a ?? 0;
  for (const [bit, name] of BITS) if (bits & bit) element.classList.add(name);
  if (bits & 16) {
    [ink, paper] = [paper, ink];
    if (ink === undefined && paper === undefined) {
      element.classList.add('a-inverse');
      return element;
    }
  }
  if (paper === undefined) {
    if (isNamed(ink)) element.classList.add(`a${ink}`);
    else if (ink !== undefined) setInk(element, readable(rgb(ink), PAPER[dark ? 'dark' : 'light']));
    return element;
  }
  const behind = rgb(paper);
  const wanted = ink === undefined ? PAPER[luminance(behind) > MIDDLE ? 'dark' : 'light'] : rgb(ink);
  element.style.setProperty('background-color', css(behind));
  setInk(element, readable(wanted, behind));
  return element;
}

function setInk(element, colour) {
  element.style.setProperty('color', css(colour));
}

const isNamed = (colour) => typeof colour === 'number' && colour < 16;
const css = ([red, green, blue]) => `rgb(${red} ${green} ${blue})`;

const BASIC = ['000000', 'cd3131', '0dbc79', 'e5e510', '2472c8', 'bc3fbc', '11a8cd', 'e5e5e5', '666666', 'f14c4c', '23d18b',
  'f5f543', '3b8eea', 'd670d6', '29b8db', 'ffffff'];
const LEVELS = [0, 95, 135, 175, 215, 255];

/** Returns the parts of a colour: a number of xterm's palette, or `#rrggbb`. */
export function rgb(colour) {
  if (typeof colour === 'string') return hex(colour.slice(1));
  if (colour < 16) return hex(BASIC[colour]);
  if (colour >= 232) return Array(3).fill(8 + (colour - 232) * 10);
  const cube = colour - 16;
  return [LEVELS[Math.floor(cube / 36)], LEVELS[Math.floor(cube / 6) % 6], LEVELS[cube % 6]];
}

const hex = (text) => [0, 2, 4].map((at) => parseInt(text.slice(at, at + 2), 16) || 0);

/** Returns the colour, moved towards white or black as little as makes it readable. */
export function readable(ink, paper) {
  const target = luminance(paper) > MIDDLE ? 0 : 255;
  for (let part = 0; part <= 1; part += 0.05) {
    const moved = ink.map((value) => Math.round(value + (target - value) * part));
    if (contrast(moved, paper) >= LEAST) return moved;
  }
  return Array(3).fill(target);
}

function luminance(colour) {
  const [red, green, blue] = colour.map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Returns the contrast of two colours, from 1 to 21. */
export function contrast(one, other) {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
