/**
 * The loss of held-out recordings by step, as a line: it falls while the voice gets closer.
 */
import { ratio } from "../i18n/format.js";
import { setLabel } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 240;
const HEIGHT = 48;
const MARGIN = 3;

/** Points of the line in a box of WIDTH x HEIGHT. @param {[number, number][]} losses step and loss @param {number} steps */
export function pointsOf(losses, steps) {
  const values = losses.map(([, loss]) => loss);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (step) => MARGIN + (step / Math.max(1, steps)) * (WIDTH - 2 * MARGIN);
  const y = (loss) => MARGIN + ((high - loss) / (high - low || 1)) * (HEIGHT - 2 * MARGIN);
  return losses.map(([step, loss]) => `${x(step).toFixed(1)},${y(loss).toFixed(1)}`).join(" ");
}

/** @param {{losses: [number, number][], first_loss: number, best_loss: number}} progress @param {number} steps */
export function lossCurve({ losses, first_loss: first, best_loss: best }, steps) {
  const drawing = document.createElementNS(SVG, "svg");
  drawing.setAttribute("class", "train-curve");
  drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  drawing.setAttribute("preserveAspectRatio", "none");
  drawing.setAttribute("role", "img");
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", pointsOf(losses, steps));
  drawing.append(line);
  return setLabel(drawing, "train.curve", { first: () => ratio(first), best: () => ratio(best) });
}
