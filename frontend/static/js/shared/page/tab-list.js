/** Tabs of one panel, with arrow keys between them. */
import { h } from "./dom.js";

/**
 * @param {string[]} names what stands on the tabs
 * @param {{panel: string, label: string, choose: (name: string) => void}} of id of the panel, the message that names all of
 *   them, and what is done when one is pressed
 * @returns {{list: HTMLElement, select: (name: string) => void}}
 */
export function tabList(names, { panel, label, choose }) {
  const tabs = names.map((name) => h("button", { class: "tab", type: "button", role: "tab", "aria-controls": panel }, name));
  const list = h("div", { class: "tabs", role: "tablist", "data-i18n-label": label }, tabs);
  for (const tab of tabs) tab.addEventListener("click", () => choose(tab.textContent));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = tabs.at((tabs.indexOf(event.target) + step) % tabs.length);
    choose(next.textContent);
    next.focus();
  });
  const select = (name) => {
    for (const tab of tabs) {
      tab.setAttribute("aria-selected", String(tab.textContent === name));
      tab.tabIndex = tab.textContent === name ? 0 : -1;
    }
  };
  return { list, select };
}
