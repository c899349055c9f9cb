/**
 * The sheet that takes an API key, for services whose gateways ask for one.
 */
import { VoxFleet } from "../../client/voxfleet.js";
import { apiKey, keyIsRemembered, setApiKey } from "./fleet.js";
import { h } from "../page/dom.js";
import { setMessage } from "../../i18n/i18n.js";
import { problemText } from "../notices/problems.js";

let sheet = null;

/** @param {{code?: string, message: string}} [problem] why it is asked for, where a request was refused */
export function openKeySheet(problem) {
  sheet ??= new KeySheet();
  sheet.open(problem);
}

class KeySheet {
  #input = h("input", { id: "api-key", type: "password", autocomplete: "off", spellcheck: "false" });
  #remember = h("input", { id: "api-key-remember", type: "checkbox" });
  #problem = h("p", { class: "notice notice-danger", role: "alert", hidden: true });
  #forget = h("button", { class: "button button-quiet", type: "button", "data-i18n": "key.forget" });
  #dialog;

  constructor() {
    const form = h(
      "form",
      { method: "dialog" },
      h("h2", { id: "key-title", "data-i18n": "key.title" }),
      h("p", { class: "quiet", "data-i18n": "key.about" }),
      this.#problem,
      h("label", { class: "stacked" }, h("span", { "data-i18n": "key.label" }), this.#input),
      h("label", { class: "check" }, this.#remember, h("span", { "data-i18n": "key.remember" })),
      h(
        "div",
        { class: "sheet-foot" },
        this.#forget,
        h("button", { class: "button", type: "button", "data-i18n": "dialog.cancel", onclick: () => this.#dialog.close() }),
        h("button", { class: "button button-primary", "data-i18n": "key.use" }),
      ),
    );
    form.addEventListener("submit", (event) => this.#submit(event));
    this.#forget.addEventListener("click", () => setApiKey(null, false));
    window.addEventListener("apikey", () => this.#dialog.close()); // given here, or in another tab
    this.#dialog = h("dialog", { class: "sheet", id: "key-sheet", "aria-labelledby": "key-title" }, form);
    document.body.append(this.#dialog);
  }

  open(problem) {
    if (this.#dialog.open) return;
    this.#input.value = apiKey() ?? "";
    this.#remember.checked = keyIsRemembered();
    this.#forget.hidden = !apiKey();
    this.#showProblem(problem);
    this.#dialog.showModal();
    this.#input.focus();
  }

  /** The key is tried first: a mistyped one is noticed here, and nothing of the page is asked for with it. */
  async #submit(event) {
    event.preventDefault();
    if (!/^[ -~]*$/.test(this.#input.value)) {
      this.#showProblem({ code: "invalid_api_key" }); // no header carries it
      return;
    }
    const key = this.#input.value.trim() || null;
    const problem = await problemWith(key);
    if (problem?.status === 401) this.#showProblem(problem);
    else setApiKey(key, this.#remember.checked); // whatever else is wrong, the page tells when it asks
  }

  #showProblem(problem) {
    this.#problem.hidden = !problem;
    if (problem) setMessage(this.#problem, "text.plain", { text: () => problemText(problem) });
  }
}

/** @returns {Promise<Error | null>} what the service says to a key where it is somebody's own that is asked for */
function problemWith(key) {
  return new VoxFleet({ apiKey: key }).jobs({ limit: 1 }).then(() => null, (error) => error);
}
