/** The graphs of the admin page: ticks, runs and the point that is looked at. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { areaOf, linesAndDots, nearest, pathOf, runsOf, timeTicks, valueTicks } from "../../../../frontend/static/js/admin/sections/graph-scale.js";

describe("a graph", () => {
  test("has round ticks that hold its largest value", () => {
    assert.deepEqual(valueTicks(0, 4, true), [0, 1, 2, 3, 4]);
    assert.deepEqual(valueTicks(4.2, 4, true), [0, 2, 4, 6]);
    assert.deepEqual(valueTicks(0.31, 0.2), [0, 0.1, 0.2, 0.3, 0.4]);
    assert.deepEqual(valueTicks(9, 4, true), [0, 5, 10]);
    for (const largest of [0.001, 0.7, 1, 3, 17, 99.9, 100, 12345]) {
      const ticks = valueTicks(largest, 0.001);
      assert.ok(ticks.at(-1) >= largest && ticks.length <= 6, `${largest}: ${ticks}`);
    }
  });

  test("has its ticks of time at full hours of the reader's clock, no more than fit", () => {
    const from = 1_800_000_123;
    for (const seconds of [3600, 21_600, 86_400, 604_800]) {
      const ticks = timeTicks(from, from + seconds, 8);
      assert.ok(ticks.length >= 3 && ticks.length <= 9, String(ticks.length));
      for (const { at } of ticks) assert.ok(at >= from && at <= from + seconds && new Date(at * 1000).getMinutes() % 5 === 0);
    }
  });

  test("breaks its line where nothing was measured, and shows a point that stands alone", () => {
    const points = [{ at: 0, a: 1 }, { at: 10, a: 2 }, { at: 20, a: null }, { at: 30, a: 3 }, { at: 60, a: 4 }, { at: 70, a: 5 }];
    const runs = runsOf(points, "a", 10);
    assert.deepEqual(runs.map((run) => run.map(({ a }) => a)), [[1, 2], [3], [4, 5]]);
    const [x, y] = [({ at }) => at, ({ a }) => a];
    const { lines, dots } = linesAndDots(runs);
    assert.deepEqual(dots, [{ at: 30, a: 3 }]);
    assert.equal(pathOf(lines, x, y), "M0.0 1.0L10.0 2.0M60.0 4.0L70.0 5.0");
    assert.equal(areaOf(lines, x, y, 9), "M0.0 1.0L10.0 2.0V9H0.0ZM60.0 4.0L70.0 5.0V9H60.0Z");
  });

  test("knows the point under a pointer", () => {
    const points = [{ at: 0 }, { at: 10 }, { at: 40 }];
    assert.deepEqual([-5, 4, 24, 26, 99].map((at) => nearest(points, at)), [0, 0, 1, 2, 2]);
  });
});
