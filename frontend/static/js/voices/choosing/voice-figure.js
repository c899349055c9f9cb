/**
 * A small figure of bars drawn from a voice's id: the same id, the same figure in the same hue.
 */
const FIGURE_BARS = 7;
const SVG = "http://www.w3.org/2000/svg";

/** Bar heights in [0.25, 1], always the same for the same id (FNV-1a, one round per bar). */
export function figureBars(id) {
  let hash = 2166136261;
  const mix = (code) => (hash = Math.imul(hash ^ code, 16777619) >>> 0);
  for (const character of id) mix(character.codePointAt(0));
  return Array.from({ length: FIGURE_BARS }, (_, bar) => 0.25 + 0.75 * ((mix(bar + 1) >>> 8) % 1000) / 999);
}

/** Degrees of a colour circle, always the same for the same id; the default voice has the product's own. */
export function figureHue(id) {
  if (id === "default") return 175;
  const [first, second] = figureBars(id);
  return Math.round(360 * ((first * 7.3 + second * 3.1) % 1));
}

/** @param {string} id @returns {SVGElement} */
export function voiceFigure(id) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "voice-figure");
  svg.setAttribute("viewBox", `0 0 ${FIGURE_BARS * 4 + 2} 24`);
  svg.setAttribute("aria-hidden", "true");
  svg.style.setProperty("--hue", figureHue(id));
  figureBars(id).forEach((height, bar) => {
    const rect = document.createElementNS(SVG, "rect");
    const attributes = { x: 2 + bar * 4, y: 12 - height * 10, width: 2, height: height * 20, rx: 1 };
    for (const [key, value] of Object.entries(attributes)) rect.setAttribute(key, value);
    svg.append(rect);
  });
  return svg;
}
