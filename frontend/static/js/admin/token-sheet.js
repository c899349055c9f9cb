/**
 * The question for the admin token. It can not be dismissed, only left for the studio: without it the page has nothing
 * to show.
 */
import { byId } from "../shared/page/dom.js";

/** @param {boolean} wrong whether the last token was refused @returns {Promise<string>} */
export function askForToken(wrong) {
  const sheet = byId("token-sheet");
  const input = byId("token");
  byId("token-wrong").hidden = !wrong;
  input.value = "";
  sheet.addEventListener("cancel", (event) => event.preventDefault());
  sheet.showModal();
  return new Promise((resolve) => {
    sheet.addEventListener("close", () => resolve(input.value), { once: true });
  });
}
