/**
 * Whether a phone's keyboard covers a part of the page, and where the part begins that is seen: for style sheets, as
 * the attribute data-keyboard and the property --visible-top of the root.
 *
 * Some browsers make the page as low as what is left (interactive-widget), others only move what is seen of it.
 */

/** A window that is small because its page is enlarged has no such keyboard. */
const PHONE = "(max-width: 40em) and (pointer: coarse)";
const LOW_PIXELS = 560;

/** Follows it from now on. @param {VisualViewport | null} viewport */
export function followKeyboard(viewport = window.visualViewport) {
  if (!viewport) return;
  const phone = matchMedia(PHONE);
  const follow = () => {
    const root = document.documentElement;
    root.toggleAttribute("data-keyboard", phone.matches && viewport.height < LOW_PIXELS);
    root.style.setProperty("--visible-top", `${Math.round(viewport.offsetTop)}px`);
  };
  for (const type of ["resize", "scroll"]) viewport.addEventListener(type, follow);
  follow();
}
