/**
 * Requests to the admin API with the token it may ask for: asked once, kept for this tab.
 *
 * Many requests may be refused at the same time; they share one question.
 */
import { ApiError, request } from "../shared/service/api.js";
import { takeEarly } from "../shared/service/early-answers.js";
import { ofTab } from "../shared/page/storage.js";

const KEY = "voxfleet.adminToken";

/** The token that was given in this tab. @returns {string | null} */
export function adminToken(storage = ofTab) {
  return storage.getItem(KEY);
}

/**
 * Takes a token over from the address (`/admin#token=...`, as `voxfleet serve` prints it), and out of it, so that it
 * is in no history, no link and no picture of the window.
 */
export function adoptToken(location, history, storage = ofTab) {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  storage.setItem(KEY, token);
  history.replaceState(history.state, "", location.pathname + location.search);
}

export class AdminAccess {
  #ask;
  #storage;
  #asking = null;

  /**
   * @param {(wrong: boolean) => Promise<string>} ask gets a token from the reader; wrong: the last one was refused
   */
  constructor(ask, storage = ofTab) {
    this.#ask = ask;
    this.#storage = storage;
  }

  /** As fetch, with the token; asks for it and tries again where it is refused. @throws {ApiError} */
  async request(path, options = {}) {
    for (;;) {
      const token = this.#storage.getItem(KEY);
      const headers = token ? { ...options.headers, "x-admin-token": token } : options.headers;
      try {
        const begun = options.method ? undefined : takeEarly(path, options.signal);
        return await request(path, { ...options, headers }, begun);
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== "invalid_admin_token") throw error;
        await this.#renew(token);
      }
    }
  }

  /** The JSON of a successful response. @throws {ApiError} */
  async requestJson(path, options) {
    return (await this.request(path, options)).json();
  }

  /** Asks for another token than the refused one, unless somebody else already got it. */
  async #renew(refused) {
    if (this.#storage.getItem(KEY) !== refused) return;
    this.#asking ??= this.#ask(refused !== null)
      .then((token) => this.#storage.setItem(KEY, token))
      .finally(() => (this.#asking = null));
    await this.#asking;
  }
}
