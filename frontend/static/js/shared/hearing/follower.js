/** A box scrolls along with what is spoken; a reader who scrolls it is left alone for a while. */
const MARGIN_PIXELS = 24;
const PATIENCE_MS = 4000;

/**
 * @param {HTMLElement} box that scrolls
 * @param {{place: number, keys?: boolean}} how the part of its height above what is followed; whether keys scroll it, too
 * @returns {(element: HTMLElement) => void} what brings an element there, unless it is in view
 */
export function follower(box, { place, keys = false }) {
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let scrolledAt = -Infinity;
  for (const type of ["wheel", "touchmove", ...(keys ? ["keydown"] : [])]) {
    box.addEventListener(type, () => (scrolledAt = performance.now()), { passive: true });
  }
  return (element) => {
    if (performance.now() - scrolledAt < PATIENCE_MS) return;
    const around = box.getBoundingClientRect();
    const { top, bottom } = element.getBoundingClientRect();
    if (top >= around.top + MARGIN_PIXELS && bottom <= around.bottom - MARGIN_PIXELS) return;
    const target = box.scrollTop + (top - around.top) - around.height * place;
    box.scrollTo({ top: target, behavior: still.matches ? "auto" : "smooth" });
  };
}
