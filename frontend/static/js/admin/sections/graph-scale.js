/**
 * Where things are in a graph: ticks of both axes, lines with their gaps, the point under a pointer.
 */
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const TIME_STEPS = [5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY];
const ROUND = [1, 2, 2.5, 5, 10];

/**
 * Round values from 0 to at least `largest`. @param {number} least of the top one @param {boolean} whole no fractions
 * @returns {number[]}
 */
export function valueTicks(largest, least = 1, whole = false, count = 4) {
  const wanted = Math.max(largest, least) / count;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const fitting = ROUND.map((factor) => factor * power).find((size) => size >= wanted * (1 - 1e-9) && (!whole || Number.isInteger(size)));
  const step = fitting ?? Math.ceil(wanted);
  const top = Math.max(1, Math.ceil(Math.max(largest, least) / step - 1e-9));
  return Array.from({ length: top + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/**
 * Full hours, or the like, of the reader's clock. @param {number} from seconds since 1970 @param {number} most how many fit
 * @returns {{at: number, step: number}[]}
 */
export function timeTicks(from, to, most) {
  const step = TIME_STEPS.find((seconds) => (to - from) / seconds <= most) ?? TIME_STEPS.at(-1);
  const offset = (at) => -60 * new Date(at * 1000).getTimezoneOffset();
  const first = Math.ceil((from + offset(from)) / step) * step - offset(from);
  const ticks = [];
  for (let at = first; at <= to; at += step) ticks.push({ at, step });
  return ticks;
}

/** Runs of points without a gap: neither a missing value, nor more than one span between two. */
export function runsOf(points, key, span) {
  const runs = [];
  let before = null;
  for (const point of points) {
    if (typeof point[key] !== "number") {
      before = null;
      continue;
    }
    if (before === null || point.at - before > 1.5 * span) runs.push([]);
    runs.at(-1).push(point);
    before = point.at;
  }
  return runs;
}

/** The runs that are lines, and the points that stand alone: nobody would see a line as long as it is wide. */
export function linesAndDots(runs) {
  return { lines: runs.filter((run) => run.length > 1), dots: runs.filter((run) => run.length === 1).flat() };
}

/** The path of lines. */
export function pathOf(lines, x, y) {
  const corner = (point) => `${x(point).toFixed(1)} ${y(point).toFixed(1)}`;
  return lines.map((line) => `M${line.map(corner).join("L")}`).join("");
}

/** The area under them. */
export function areaOf(lines, x, y, bottom) {
  return lines.map((line) => `${pathOf([line], x, y)}V${bottom}H${x(line[0]).toFixed(1)}Z`).join("");
}

/** Number of the point that is nearest to a time. */
export function nearest(points, at) {
  let best = 0;
  points.forEach((point, index) => {
    if (Math.abs(point.at - at) < Math.abs(points[best].at - at)) best = index;
  });
  return best;
}
