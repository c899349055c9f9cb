/**
 * How waits are estimated: one number per setting, within the limits that the server names; what it refuses is
 * said at the field.
 */
import { h } from "../../shared/page/dom.js";
import { problemText } from "../../shared/notices/problems.js";
import { Section } from "./section.js";
import { t } from "../words.js";

const PATH = "/api/settings/eta";

/** The settings of an answer: [name, value, [low, high] or null]. Everything that is a number is one. */
export function etaFields({ limits = {}, ...values }) {
  return Object.entries(values)
    .filter(([, value]) => typeof value === "number")
    .map(([name, value]) => [name, value, limits[name] ?? null]);
}

export class EtaSection extends Section {
  #fields = new Map();
  #form = null;

  constructor(page) {
    super("eta", PATH, page);
  }

  show(answer) {
    if (this.#form?.contains(document.activeElement)) return; // somebody is typing
    this.#fields = new Map(etaFields(answer).map(([name, value, limits]) => [name, field(name, value, limits)]));
    const save = h("button", { class: "button", "data-i18n": "admin.save" });
    this.#form = h("form", { class: "eta-form", novalidate: true }, [...this.#fields.values()].map(({ element }) => element), save);
    this.#form.addEventListener("submit", (event) => this.#submit(event));
    this.body.replaceChildren(this.#form);
  }

  async #submit(event) {
    event.preventDefault();
    this.clearProblem();
    for (const each of this.#fields.values()) each.complain("");
    const values = {};
    for (const [name, { input }] of this.#fields) values[name] = input.value.trim() === "" ? null : Number(input.value);
    try {
      await this.page.access.request(PATH, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(values),
      });
      this.page.say(t("admin.saved"));
      document.activeElement?.blur?.();
      await this.load();
    } catch (error) {
      const wrong = this.#fields.get(error.param?.split(".").at(-1));
      if (!wrong) {
        this.showProblem(error);
        return;
      }
      wrong.complain(problemText(error));
      wrong.input.focus();
    }
  }
}

function field(name, value, limits) {
  const id = `eta-${name}`;
  const input = h("input", { id, type: "number", step: "any", value, inputmode: "decimal", "aria-describedby": `${id}-about ${id}-problem` });
  const problem = h("p", { class: "field-problem", id: `${id}-problem`, role: "alert" });
  const known = t(`admin.eta.${name}`) !== `admin.eta.${name}`;
  const about = h(
    "p",
    { class: "hint", id: `${id}-about` },
    h("span", known ? { "data-i18n": `admin.eta.${name}.about` } : {}),
    limits && h("span", { class: "limits" }, `${limits[0]} – ${limits[1]}`),
  );
  const label = h("label", { for: id, ...(known ? { "data-i18n": `admin.eta.${name}` } : {}) }, ...(known ? [] : [name]));
  return {
    input,
    element: h("div", { class: "eta-field" }, label, input, about, problem),
    complain(message) {
      problem.textContent = message;
      if (message) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    },
  };
}
