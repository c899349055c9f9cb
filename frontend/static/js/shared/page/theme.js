/**
 * Light and dark: the system's choice until the reader makes one, which is then remembered.
 *
 * early.js (a classic script in <head>) applies the remembered choice before the first paint.
 */
import { local } from "./storage.js";

const KEY = "voxfleet.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** "light" or "dark", as shown now. */
export function currentTheme() {
  return document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");
}

/** Shows and remembers the other theme; drawings listen to the window's "themechange". */
export function toggleTheme() {
  const theme = currentTheme() === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  local.setItem(KEY, theme);
  announce();
}

function announce() {
  window.dispatchEvent(new Event("themechange"));
}

system.addEventListener("change", announce);
