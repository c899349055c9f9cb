/**
 * A copy button that says so: its icon turns into a tick for a moment.
 */
import { h, icon, setIcon } from "./dom.js";
import { setMessage } from "../../i18n/i18n.js";

const SAID_MS = 1600;

/**
 * @param {() => string} text what to copy, asked when it is pressed
 * @param {string} label key of the message that names the button
 */
export function copyButton(text, label) {
  const said = h("span", { "data-i18n": "copy.copy" });
  const attributes = { class: "button button-quiet", type: "button", "data-i18n-label": label };
  const button = h("button", attributes, icon("copy"), said);
  button.addEventListener("click", async () => {
    const copied = await copy(text());
    setIcon(button, copied ? "check" : "warning");
    setMessage(said, copied ? "copy.copied" : "copy.byHand");
    setTimeout(() => {
      setIcon(button, "copy");
      setMessage(said, "copy.copy");
    }, SAID_MS);
  });
  return button;
}

/** Puts text into the clipboard. @returns {Promise<boolean>} whether it is there */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text); // absent on plain http from another machine
    return true;
  } catch {
    return false;
  }
}
