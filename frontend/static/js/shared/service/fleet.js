/**
 * The service that served this page, with the API key that the reader may have given.
 *
 * A key is kept for the tab, and beyond it only when the reader asks for that.
 */
import { VoxFleet } from "../../client/voxfleet.js";
import { takeEarly } from "./early-answers.js";
import { local, ofTab } from "../page/storage.js";

const KEY = "voxfleet.apiKey";

/** @returns {string | null} */
export function apiKey() {
  return ofTab.getItem(KEY) ?? local.getItem(KEY);
}

/** Whether the key outlives this tab. */
export function keyIsRemembered() {
  return local.getItem(KEY) !== null;
}

/** @param {string | null} key null forgets it @param {boolean} remember beyond this tab */
export function setApiKey(key, remember) {
  const [kept, other] = remember ? [local, ofTab] : [ofTab, local];
  other.removeItem(KEY);
  if (key) kept.setItem(KEY, key); // at once: other tabs would see that there is none
  else kept.removeItem(KEY);
  tellKey();
}

/** The parts of the page ask anew: who has another key sees other things. */
function tellKey() {
  forgetConfig();
  window.dispatchEvent(new Event("apikey"));
}

/** Another tab has another key now, or none, and this one has none of its own. */
globalThis.window?.addEventListener("storage", ({ key }) => {
  if ((key === KEY || key === null) && ofTab.getItem(KEY) === null) tellKey();
});

export const fleet = new VoxFleet({ apiKey, begun: takeEarly });

let config = null;

/** GET /api/config, asked once by all parts of a page. @throws {ApiError} */
export function pageConfig() {
  if (config === null) {
    const asked = fleet.config();
    config = asked;
    asked.catch(() => config === asked && forgetConfig());
  }
  return config;
}

/** The answer may be another one now: the next part of the page that needs it asks again. */
export function forgetConfig() {
  config = null;
}
