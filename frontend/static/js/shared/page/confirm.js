/**
 * The question before something that can not be undone. Esc and the first button mean no.
 *
 *   if (await confirmed({ title: "Delete this recording?", text: title, verb: "Delete" })) ...
 */
import { h } from "./dom.js";
import { shown } from "./sheet.js";

let count = 0;

/**
 * @param {{title: string, text?: string, verb: string, keep?: string, danger?: boolean}} question keep: what no means,
 *   where "Cancel" could be taken for a yes
 * @returns {Promise<boolean>} whether the reader chose the verb
 */
export async function confirmed({ title, text = "", verb, keep, danger = true }) {
  count += 1;
  const id = `confirm-${count}`;
  const sheet = h(
    "dialog",
    { class: "sheet confirm", "aria-labelledby": id, "aria-describedby": `${id}-text` },
    h(
      "form",
      { method: "dialog" },
      h("h2", { id }, title),
      h("p", { class: "confirm-text", id: `${id}-text` }, text),
      h(
        "div",
        { class: "confirm-buttons" },
        h("button", { class: "button", value: "", autofocus: true, "data-i18n": keep ? null : "dialog.cancel" }, keep),
        h("button", { class: danger ? "button button-danger" : "button button-primary", value: "yes" }, verb),
      ),
    ),
  );
  return (await shown(sheet)) === "yes";
}
