/**
 * The same code in several languages: tabs with arrow keys between them, and a copy button. All of a page show the
 * language that was chosen last.
 */
import { copyButton } from "../shared/page/clipboard.js";
import { h, setText } from "../shared/page/dom.js";
import { setLabel } from "./words.js";
import { local } from "../shared/page/storage.js";

const CHOSEN = "voxfleet.docs.language";
const changed = new EventTarget();
let count = 0;

/** @param {Record<string, string>} code by the name of its language */
export function codeTabs(code) {
  const names = Object.keys(code);
  const id = `code-${(count += 1)}`;
  const pre = h("pre", { id, tabindex: "0", role: names.length > 1 ? "tabpanel" : "group" });
  const head = h("div", { class: "code-head" });
  const tabs = names.map((name) => tabOf(name, id));
  const show = () => {
    const chosen = names.includes(local.getItem(CHOSEN)) ? local.getItem(CHOSEN) : names[0];
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab.textContent === chosen));
      tab.tabIndex = tab.textContent === chosen ? 0 : -1;
    }
    setText(pre, code[chosen]);
    setLabel(pre, "docs.example.label", { name: chosen });
  };
  if (names.length > 1) {
    head.append(h("div", { class: "tabs", role: "tablist", "data-i18n-label": "docs.example.tabs" }, tabs));
    changed.addEventListener("change", show);
  } else head.append(h("span", { class: "label" }, names[0]));
  head.append(copyButton(() => pre.textContent, "docs.example.copy"));
  show();
  return h("div", { class: "code" }, head, pre);
}

function tabOf(name, panel) {
  const tab = h("button", { class: "tab", type: "button", role: "tab", "aria-controls": panel }, name);
  tab.addEventListener("click", () => choose(name));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...tab.parentElement.children];
    const next = all.at((all.indexOf(tab) + step) % all.length);
    choose(next.textContent);
    next.focus();
  });
  return tab;
}

function choose(name) {
  local.setItem(CHOSEN, name);
  changed.dispatchEvent(new Event("change"));
}
