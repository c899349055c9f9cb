/** GET /api/config as the parts of a page share it. */
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { fleet, forgetConfig, pageConfig, setApiKey } from "../../frontend/static/js/shared/service/fleet.js";

const memory = () => ({ getItem: () => null, setItem: () => null, removeItem: () => null });

describe("the configuration of a page", () => {
  let asked;
  beforeEach(() => {
    asked = [];
    forgetConfig();
    fleet.config = () => new Promise((resolve, reject) => asked.push({ resolve, reject }));
    Object.assign(globalThis, { localStorage: memory(), sessionStorage: memory(), window: new EventTarget() });
  });

  test("parts that need it together ask once", async () => {
    const parts = [pageConfig(), pageConfig()];
    assert.equal(asked.length, 1);
    asked[0].resolve({ sample_rate: 16000 });
    assert.deepEqual(await Promise.all(parts), [{ sample_rate: 16000 }, { sample_rate: 16000 }]);
  });

  test("it is asked for again with another key, and where it failed", async () => {
    pageConfig();
    setApiKey("another", false);
    const second = pageConfig();
    assert.equal(asked.length, 2);
    asked[1].reject(new Error("away"));
    await assert.rejects(second, /away/);
    pageConfig();
    assert.equal(asked.length, 3);
  });

  test("an old request that fails takes nothing from the one after it", async () => {
    const first = pageConfig();
    forgetConfig();
    const second = pageConfig();
    asked[0].reject(new Error("late"));
    await assert.rejects(first, /late/);
    assert.equal(pageConfig(), second);
  });
});
