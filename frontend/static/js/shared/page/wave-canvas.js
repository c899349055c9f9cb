/** What pictures of sound share: a canvas with the pixels of the screen, and the colours of its bars. */

/** @param {HTMLCanvasElement} canvas @returns {{context: CanvasRenderingContext2D, width: number, height: number}} empty, in CSS pixels */
export function fitted(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  return { context, width, height };
}

/** As the theme has them. @param {Element} element @returns {{played: string, arrived: string, expected: string, head: string}} */
export function waveColours(element) {
  const style = getComputedStyle(element);
  const names = ["played", "arrived", "expected", "head"];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--wave-${name}`).trim()]));
}
