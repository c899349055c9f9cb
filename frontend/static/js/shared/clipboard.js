/**
 * A copy button that says so: its icon turns into a tick for a moment.
 */
import { h, icon, setIcon } from "./dom.js";

const SAID_MS = 1600;

/** @param {() => string} text what to copy, asked when it is pressed @param {string} label */
export function copyButton(text, label) {
  const said = h("span", {}, "Copy");
  const button = h("button", { class: "button button-quiet", type: "button", "aria-label": label }, icon("copy"), said);
  button.addEventListener("click", async () => {
    const copied = await copy(text());
    setIcon(button, copied ? "check" : "warning");
    said.textContent = copied ? "Copied" : "Select and copy by hand";
    setTimeout(() => {
      setIcon(button, "copy");
      said.textContent = "Copy";
    }, SAID_MS);
  });
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text); // absent on plain http from another machine
    return true;
  } catch {
    return false;
  }
}
