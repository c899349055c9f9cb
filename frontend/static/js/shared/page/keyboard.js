/**
 * Whether a phone's keyboard covers a part of the page, and where the part begins that is seen: for style sheets, as
 * the attribute data-keyboard and the property --visible-top of the root.
 *
 * Some browsers make the page as low as what is left (interactive-widget), others only move what is seen of it.
 */

/** A window that is small because its page is enlarged has no such keyboard. */
const PHONE = "(max-width: 40em) and (pointer: coarse)";
const LOW_PIXELS = 560;
/** A keyboard takes more of the height than that; small phones are as low without one. */
const LEFT = 0.8;

/** Follows it from now on. @param {VisualViewport | null} viewport */
export function followKeyboard(viewport = window.visualViewport) {
  if (!viewport) return;
  const phone = matchMedia(PHONE);
  let [width, tallest] = [0, 0];
  const follow = () => {
    const root = document.documentElement;
    const height = viewport.height * viewport.scale;
    tallest = innerWidth === width ? Math.max(tallest, height) : height;
    width = innerWidth;
    root.toggleAttribute("data-keyboard", phone.matches && height < Math.min(LOW_PIXELS, LEFT * tallest));
    root.style.setProperty("--visible-top", `${Math.round(viewport.offsetTop)}px`);
  };
  for (const type of ["resize", "scroll"]) viewport.addEventListener(type, follow);
  follow();
}
