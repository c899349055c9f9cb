/** The same code in several languages, and a copy button. All of a page show the language that was chosen last. */
import { copyButton } from "../shared/page/clipboard.js";
import { h, setText } from "../shared/page/dom.js";
import { local } from "../shared/page/storage.js";
import { tabList } from "../shared/page/tab-list.js";
import { setLabel } from "./words.js";

const CHOSEN = "voxfleet.docs.language";
const changed = new EventTarget();
let count = 0;

/** @param {Record<string, string>} code by the name of its language */
export function codeTabs(code) {
  const names = Object.keys(code);
  const id = `code-${(count += 1)}`;
  const pre = h("pre", { class: "listing", id, tabindex: "0", role: names.length > 1 ? "tabpanel" : "group" });
  const tabs = tabList(names, { panel: id, label: "docs.example.tabs", choose });
  const show = () => {
    const chosen = names.includes(local.getItem(CHOSEN)) ? local.getItem(CHOSEN) : names[0];
    tabs.select(chosen);
    setText(pre, code[chosen]);
    setLabel(pre, "docs.example.label", { name: chosen });
  };
  const several = names.length > 1;
  if (several) changed.addEventListener("change", show);
  show();
  const copy = copyButton(() => pre.textContent, "docs.example.copy");
  const head = h("div", { class: "code-head" }, several ? tabs.list : h("span", { class: "label" }, names[0]), copy);
  return h("div", { class: "code" }, head, pre);
}

function choose(name) {
  local.setItem(CHOSEN, name);
  changed.dispatchEvent(new Event("change"));
}
