/**
 * The bar on top of each page: mark, pages, a place for the page's own status, and the tools: language, theme,
 * API key and help.
 */
import { h, icon, setIcon } from "./dom.js";
import { apiKey, pageConfig } from "../service/fleet.js";
import { LANGUAGES, language, setLabel, setLanguage, translatePage } from "../../i18n/i18n.js";
import { keepForLater } from "../service/offline.js";
import { openKeySheet } from "../service/key-sheet.js";
import { coverSecondClicks } from "./sheet.js";
import { currentTheme, toggleTheme } from "./theme.js";

const MARK_URL = new URL("../../../img/mark.svg", import.meta.url);

/** Pages that can be switched off have an id of GET /api/config "pages"; those that need something are shown once it is there. */
const PAGES = [
  { href: "/", key: "nav.studio", id: "studio" },
  { href: "/live", key: "nav.live", id: "live" },
  { href: "/chat", key: "nav.chat", id: "chat", needs: "text_models" },
  { href: "/book", key: "nav.book", id: "books" },
  { href: "/sessions", key: "nav.sessions", id: "sessions" },
  { href: "/admin", key: "nav.admin" },
  { href: "/docs", key: "nav.docs" },
];

/**
 * Fills the page's <header> and says the page's messages.
 * @param {HTMLElement} header
 * @param {{onHelp?: () => void}} options help button, where the page has shortcuts to explain
 * @returns {HTMLElement} the status place
 */
export function mountNav(header, { onHelp } = {}) {
  const status = h("div", { class: "nav-status" });
  const pages = h("nav", { class: "nav-pages", "data-i18n-label": "nav.pages" }, PAGES.map(pageLink));
  header.append(
    h("a", { class: "nav-brand", href: "/", "aria-label": "VoxFleet" }, mark(), h("span", {}, "VoxFleet")),
    pages,
    status,
    h("div", { class: "nav-tools" }, languageButton(), themeButton(), keyButton(), onHelp ? helpButton(onHelp) : null),
  );
  translatePage();
  coverSecondClicks();
  keepForLater();
  pageConfig().then((config) => showOpen(pages, config), () => null); // the page itself says what is wrong
  return status;
}

function mark() {
  return h("img", { class: "nav-mark", src: MARK_URL, alt: "", width: 28, height: 28 });
}

function pageLink({ href, key, id, needs }) {
  const here = href === "/" ? location.pathname === "/" : location.pathname.startsWith(href);
  const hidden = needs !== undefined && !here;
  return h("a", { href, "aria-current": here ? "page" : null, "data-page": id ?? null, "data-i18n": key, hidden });
}

/** @param {object} config of which `pages` are the ids of those that are on; a gateway that does not tell has all */
function showOpen(pages, config) {
  for (const { href, id, needs } of PAGES.filter(({ id }) => id)) {
    const link = pages.querySelector(`[data-page=${id}]`);
    const off = Array.isArray(config.pages) && !config.pages.includes(id);
    link.hidden = off || (needs !== undefined && !(config[needs]?.length > 0) && !location.pathname.startsWith(href));
  }
}

function languageButton() {
  const other = () => Object.keys(LANGUAGES).find((code) => code !== language());
  const button = h("button", { class: "button-icon", type: "button", id: "language" }, icon("globe"));
  button.addEventListener("click", () => setLanguage(other()));
  const show = () => {
    button.lang = other() === "zh" ? "zh-CN" : "en";
    for (const attribute of ["label", "title"]) setLabel(button, "nav.language", { name: LANGUAGES[other()] }, attribute);
  };
  window.addEventListener("languageset", show);
  show();
  return button;
}

function themeButton() {
  const button = h("button", { class: "button-icon", type: "button", onclick: toggleTheme }, icon("moon"));
  const show = () => {
    const dark = currentTheme() === "dark";
    setIcon(button, dark ? "sun" : "moon");
    for (const attribute of ["label", "title"]) setLabel(button, dark ? "nav.light" : "nav.dark", {}, attribute);
  };
  window.addEventListener("themechange", show);
  show();
  return button;
}

function keyButton() {
  const button = h(
    "button",
    { class: "button-icon", type: "button", id: "key", "data-i18n-label": "key.title", "data-i18n-title": "key.title" },
    icon("key"),
  );
  button.addEventListener("click", () => openKeySheet());
  const show = () => button.classList.toggle("given", Boolean(apiKey()));
  window.addEventListener("apikey", show);
  show();
  return button;
}

function helpButton(onHelp) {
  return h(
    "button",
    { class: "button-icon", type: "button", "data-i18n-label": "nav.keys", "data-i18n-title": "nav.keys", onclick: onHelp },
    icon("help"),
  );
}
