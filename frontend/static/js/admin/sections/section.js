/**
 * A part of the admin page that shows one answer of the API: hidden where the gateway has no such API, with the
 * server's words where it refuses.
 */
import { byId, h } from "../../shared/page/dom.js";
import { showProblem } from "../../shared/notices/problem-notice.js";

export class Section {
  #problem = h("div", { class: "notice notice-danger", role: "alert", hidden: true });

  /**
   * @param {string} id of the <section>, which starts hidden @param {string} path of its API
   * @param {{access: import("../access.js").AdminAccess, answers: () => boolean, say: (text: string) => void}} page
   */
  constructor(id, path, page) {
    this.element = byId(id);
    this.body = byId(`${id}-body`);
    this.page = page;
    this.path = path;
    this.element.append(this.#problem);
  }

  /** Asks for the answer at `path` and shows it. */
  async load() {
    try {
      const answer = await this.page.access.requestJson(this.path);
      this.element.hidden = false;
      this.clearProblem();
      this.show(answer);
    } catch (error) {
      if (error.status === 404 || error.status === 405) this.element.hidden = true;
      else if (this.page.answers()) this.showProblem(error); // otherwise the page says so, once
    }
  }

  /** Sends a change. @returns {Promise<Response | null>} null when it was refused, which is shown */
  async send(method, path, json) {
    this.clearProblem();
    try {
      const body = json === undefined ? undefined : JSON.stringify(json);
      const headers = json === undefined ? {} : { "content-type": "application/json" };
      return await this.page.access.request(path, { method, headers, body });
    } catch (error) {
      this.showProblem(error);
      return null;
    }
  }

  showProblem(error) {
    this.element.hidden = false;
    showProblem(this.#problem, error, { again: () => this.load() });
  }

  clearProblem() {
    this.#problem.hidden = true;
  }
}
