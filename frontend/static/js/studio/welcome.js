/**
 * The strip for newcomers: what this is, which model runs where, what it speaks, and a first sentence at one click.
 * Who closes it does not see it again; early.js keeps its place free until then, so that nothing moves.
 *
 * Event "hear": the first sentence is wanted.
 */
import { copyButton } from "../shared/page/clipboard.js";
import { byId, h } from "../shared/page/dom.js";
import { setMessage, t } from "../i18n/i18n.js";
import { listOf, nameOf } from "../i18n/languages.js";
import { Remembered } from "../shared/page/storage.js";
import "./messages.js";

const MOST_LANGUAGES = 4;
const MODELS = { small: "openbmb/VoxCPM-0.5B", middle: "openbmb/VoxCPM1.5", large: "openbmb/VoxCPM2" };

export class Welcome extends EventTarget {
  #strip = byId("welcome");

  constructor() {
    super();
    const memory = new Remembered("welcome");
    byId("welcome-hear").addEventListener("click", () => this.dispatchEvent(new Event("hear")));
    byId("welcome-better").addEventListener("click", () => byId("models").showModal());
    byId("welcome-close").addEventListener("click", () => {
      memory.save({ closed: true });
      this.#strip.hidden = true;
      byId("text").focus();
    });
    byId("models-list").append(...Object.entries(MODELS).map(([size, name]) => modelRow(size, name)));
  }

  /** @param {{model?: string, device?: string, languages?: string[]}} config of GET /api/config */
  show({ model = null, device = null, languages = [] }) {
    const place = device === "cpu" || device === "cuda" ? device : "other";
    const key = model === null ? "welcome.none" : languages.length > 0 ? "welcome.model" : "welcome.modelAny";
    const values = { model, device: () => t(`welcome.device.${place}`), languages: () => spoken(languages) };
    setMessage(byId("welcome-model"), key, values);
  }
}

/** ["en", "zh"] -> "English and Chinese"; of many, the first ones and how many more. */
export function spoken(languages) {
  const names = languages.map((code) => nameOf(code));
  if (names.length <= MOST_LANGUAGES) return listOf(names);
  const shown = names.slice(0, MOST_LANGUAGES - 1).join(", ");
  return t("welcome.more", { names: shown, count: names.length - MOST_LANGUAGES + 1 });
}

function modelRow(size, name) {
  const command = `./start_all.sh --model ${name}`;
  return h(
    "li",
    { class: "model" },
    h("p", {}, h("b", {}, name), " ", h("span", { class: "quiet", "data-i18n": `models.${size}` })),
    h("div", { class: "model-command" }, h("code", {}, command), copyButton(() => command, "models.copy")),
  );
}
