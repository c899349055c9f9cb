/**
 * Lists that are drawn anew, with the keyboard's focus where it was.
 */
const CONTROLS = "a, button, input, select, textarea, summary";

/**
 * Draws the rows of a list anew. The control that has the focus gets it back; where its row is gone, the same one of the
 * row that is in its place does.
 *
 * @param {HTMLElement} list @param {string} name the attribute that tells its rows apart, such as "data-book"
 * @param {() => void} draw @param {HTMLElement} [otherwise] what gets the focus where no row is left
 */
export function keepFocus(list, name, draw, otherwise) {
  const held = document.activeElement;
  const row = list.contains(held) ? held.closest(`[${name}]`) : null;
  const rows = () => [...list.querySelectorAll(`[${name}]`)];
  const place = row && { row: rows().indexOf(row), control: controlsOf(row).indexOf(held) };
  draw();
  if (!row) return;
  const now = rows();
  const next = now.find((one) => one.getAttribute(name) === row.getAttribute(name)) ?? now[Math.min(place.row, now.length - 1)];
  const controls = next ? controlsOf(next) : [];
  const control = controls[place.control];
  (control && !control.disabled ? control : (controls.find(({ disabled }) => !disabled) ?? otherwise))?.focus();
}

function controlsOf(row) {
  return [...row.querySelectorAll(CONTROLS)];
}
