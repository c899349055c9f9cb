/**
 * Building elements without markup strings: text is always text, whoever wrote it.
 *
 *   h("button", { class: "button", type: "button", onclick: stop }, icon("stop"), "Stop")
 */
import { translate } from "../../i18n/i18n.js";
import { drawing } from "./sprite.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with attributes and children. Functions become listeners ("onclick"), booleans toggle
 * an attribute, everything else is set as its string; null children are left out. An element that names a
 * message (data-i18n, data-i18n-label, ...) says it at once.
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  if (Object.keys(attributes).some((name) => name.startsWith("data-i18n"))) translate(element);
  return element;
}

/** An icon of the sprite, hidden from assistive technology: its button carries the label. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("viewBox", "0 0 20 20");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", drawing(name));
  svg.append(use);
  return svg;
}

/** Shows another icon in an element that holds one. */
export function setIcon(element, name) {
  element.querySelector("use").setAttribute("href", drawing(name));
}

/** Sets text only when it differs, so that screen readers and selections are left in peace. */
export function setText(element, text) {
  const value = String(text);
  if (element.textContent !== value) element.textContent = value;
}

/** A button that begins and ends something: a double click does what its first click does. */
export function heedOnce(button) {
  const heed = (event) => {
    if (event.detail < 2) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  button.addEventListener("click", heed, { capture: true });
}

/** The element with this id. @throws {Error} when the page lacks it */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element;
}
