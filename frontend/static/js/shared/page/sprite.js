/**
 * The drawings of the icons as a part of the page. A reference into another file asks for that file with every icon that
 * is shown: icons would blink on a slow line, and be missing where the gateway has gone and its message is shown.
 */
const SPRITE_URL = new URL("../../../img/icons.svg", import.meta.url);
const PREFIX = "icon-"; // the page has a #play and a #download of its own

let asked = null;

/** Where the drawing of an icon is, or will be once the sprite has come. @returns {string} for the href of a <use> */
export function drawing(name) {
  asked ??= place().catch(() => (asked = null)); // the next icon asks again
  return `#${PREFIX}${name}`;
}

async function place() {
  const response = await fetch(SPRITE_URL);
  if (!response.ok) throw new Error(`${SPRITE_URL}: ${response.status}`);
  const { documentElement } = new DOMParser().parseFromString(await response.text(), "image/svg+xml");
  const sprite = document.importNode(documentElement, true);
  for (const symbol of sprite.children) symbol.id = `${PREFIX}${symbol.id}`;
  sprite.setAttribute("class", "visually-hidden");
  sprite.setAttribute("aria-hidden", "true");
  document.body.append(sprite);
}
