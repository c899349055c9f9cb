/**
 * Page-wide keys. A key with a modifier works everywhere, Space and arrows are left to inputs, buttons and open dialogs,
 * which have their own use for them, and a bare character is left to where it is typed.
 *
 *   bindShortcuts({ "Ctrl+Enter": generate, "Escape": stop, "Space": toggle, "?": help });
 */
const OWN_KEYS = "input, textarea, select, button, a, summary, [role=slider], [contenteditable]";

/** Where characters are typed, or find an option. */
const TYPING = "textarea, select, [contenteditable], input:not([type=radio]):not([type=checkbox]):not([type=range])";

/** The name of a key event as bindings write it: "Ctrl+Enter" (Cmd counts as Ctrl), "Space", "?". */
export function keyName(event) {
  const key = event.key === " " ? "Space" : event.key;
  return event.ctrlKey || event.metaKey ? `Ctrl+${key}` : key;
}

/** Whether a key pressed in this element belongs to the element. */
export function belongsToTarget(name, target) {
  if (name.startsWith("Ctrl+") || name === "Escape") return false;
  return Boolean(target?.closest?.(name.length === 1 ? TYPING : OWN_KEYS));
}

/** @param {Record<string, () => void>} bindings */
export function bindShortcuts(bindings) {
  document.addEventListener("keydown", (event) => {
    const name = keyName(event);
    const action = bindings[name];
    if (!action || event.repeat || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") || belongsToTarget(name, event.target)) return;
    event.preventDefault();
    action();
  });
}
