/**
 * A button that copies a link to the current settings, or puts it into the address bar where nothing can be copied.
 */
import { copy } from "../shared/page/clipboard.js";
import { h, icon } from "../shared/page/dom.js";
import { t } from "../i18n/i18n.js";
import { toFragment } from "./share-link.js";

/** @param {() => object} settings asked when it is pressed @param {(words: () => string) => void} say */
export function shareButton(settings, say) {
  const words = h("span", { "data-i18n": "share.link" });
  const button = h("button", { class: "button", type: "button", id: "share" }, icon("link"), words);
  button.addEventListener("click", async () => {
    const fragment = toFragment(settings());
    const copied = await copy(`${location.origin}${location.pathname}${fragment}`);
    if (!copied) history.replaceState(null, "", fragment);
    say(() => t(copied ? "share.copied" : "share.failed"));
  });
  return h("div", { class: "field field-share" }, button);
}
