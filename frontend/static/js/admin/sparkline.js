/**
 * A series as a small SVG: a line and a soft area under it, for the eye only; the figure beside it is text.
 */
const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 160;
const HEIGHT = 36;

export class Sparkline {
  #line = document.createElementNS(SVG, "polyline");
  #area = document.createElementNS(SVG, "polygon");

  constructor() {
    this.element = document.createElementNS(SVG, "svg");
    this.element.setAttribute("class", "sparkline");
    this.element.setAttribute("viewBox", `0 -2 ${WIDTH} ${HEIGHT + 4}`);
    this.element.setAttribute("preserveAspectRatio", "none");
    this.element.setAttribute("aria-hidden", "true");
    this.#line.setAttribute("vector-effect", "non-scaling-stroke");
    this.element.append(this.#area, this.#line);
  }

  /** @param {import("./series.js").Series} series @param {number} [ceiling] value at the top edge */
  draw(series, ceiling) {
    const points = series.points(WIDTH, HEIGHT, ceiling);
    if (points.length === 0) return;
    const corners = [[points[0][0], HEIGHT], ...points, [WIDTH, HEIGHT]];
    this.#line.setAttribute("points", points.join(" "));
    this.#area.setAttribute("points", corners.join(" "));
  }
}
