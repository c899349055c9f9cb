/**
 * The bar on top of each page: mark, pages, a place for the page's own status, theme and help.
 */
import { h, icon, setIcon } from "./dom.js";
import { currentTheme, toggleTheme } from "./theme.js";

const PAGES = [
  { href: "/", label: "Studio" },
  { href: "/admin", label: "Admin" },
];

/**
 * Fills the page's <header>.
 * @param {HTMLElement} header
 * @param {{onHelp?: () => void}} options help button, where the page has shortcuts to explain
 * @returns {HTMLElement} the status place
 */
export function mountNav(header, { onHelp } = {}) {
  const status = h("div", { class: "nav-status" });
  header.append(
    h("a", { class: "nav-brand", href: "/", "aria-label": "VoxFleet" }, mark(), h("span", {}, "VoxFleet")),
    h("nav", { class: "nav-pages", "aria-label": "Pages" }, PAGES.map(pageLink)),
    status,
    h("div", { class: "nav-tools" }, themeButton(), onHelp ? helpButton(onHelp) : null),
  );
  return status;
}

function mark() {
  return h("img", { class: "nav-mark", src: "/static/img/mark.svg", alt: "", width: 28, height: 28 });
}

function pageLink({ href, label }) {
  const here = location.pathname === href;
  return h("a", { href, "aria-current": here ? "page" : null }, label);
}

function themeButton() {
  const button = h("button", { class: "button-icon", type: "button", onclick: toggleTheme }, icon("moon"));
  const show = () => {
    const dark = currentTheme() === "dark";
    setIcon(button, dark ? "sun" : "moon");
    button.setAttribute("aria-label", dark ? "Switch to light" : "Switch to dark");
    button.title = button.getAttribute("aria-label");
  };
  window.addEventListener("themechange", show);
  show();
  return button;
}

function helpButton(onHelp) {
  const label = "Keyboard shortcuts";
  return h(
    "button",
    { class: "button-icon", type: "button", "aria-label": label, title: `${label} (?)`, onclick: onHelp },
    icon("help"),
  );
}
