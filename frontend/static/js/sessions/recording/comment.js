/**
 * The comment on a recording: a box for its owner, plain text for everybody else.
 */
import { h } from "../../shared/page/dom.js";
import { setLabel } from "../words.js";

const MAX_COMMENT = 2000;

/** @param {HTMLElement} place @param {string} comment @param {((comment: string) => Promise<boolean>) | null} save */
export function showComment(place, comment, save) {
  if (!save) {
    place.replaceChildren(h("p", { class: "comment-text" }, comment));
    return;
  }
  const box = h("textarea", { id: "comment-box", dir: "auto", rows: 4, maxlength: MAX_COMMENT });
  setLabel(box, "session.comment");
  setLabel(box, "session.commentPlaceholder", {}, "placeholder");
  box.value = comment;
  const button = h("button", { class: "button", id: "save-comment", type: "button", "data-i18n": "session.save", disabled: true });
  let saved = comment;
  const changed = () => (button.disabled = box.value === saved);
  box.addEventListener("input", changed);
  button.addEventListener("click", async () => {
    const { value } = box;
    if (!(await save(value))) return;
    saved = value;
    changed();
  });
  window.addEventListener("beforeunload", (event) => box.value !== saved && event.preventDefault());
  place.replaceChildren(box, button);
}
