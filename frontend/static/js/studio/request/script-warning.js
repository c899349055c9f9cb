/**
 * The warning at a text that the model cannot read. The first press of Generate leads here, the second one speaks.
 *
 * Event "anyway": it is to be spoken all the same.
 */
import { byId } from "../../shared/page/dom.js";
import { setMessage } from "../../i18n/i18n.js";
import { listOf, nameOf } from "../../i18n/languages.js";
import "../messages.js";
import { unreadScripts } from "./scripts.js";
import { spoken } from "../welcome.js";

export class ScriptWarning extends EventTarget {
  #box = byId("text-warning");
  #config = {};
  #text = "";
  #warned = null;

  constructor() {
    super();
    byId("text-anyway").addEventListener("click", () => {
      this.#warned = this.#text;
      this.dispatchEvent(new Event("anyway"));
    });
  }

  /** @param {{model?: string, languages?: string[]}} config of GET /api/config */
  set config(config) {
    this.#config = config;
    this.check(this.#text);
  }

  /** Shows or hides itself for a text. @returns {boolean} whether the model cannot read it */
  check(text) {
    this.#text = text;
    const { model, languages = [] } = this.#config;
    const unread = unreadScripts(text, languages);
    this.#box.hidden = unread.length === 0;
    if (unread.length > 0) {
      const scripts = () => listOf(unread.map((code) => nameOf(code, "script")));
      setMessage(byId("text-warning-words"), "warning.script", { model, scripts, languages: () => spoken(languages) });
    }
    return unread.length > 0;
  }

  /** Whether speaking has to wait for the reader's word; asks for it once for each text. */
  holds(text) {
    if (!this.check(text) || this.#warned === text) return false;
    this.#warned = text;
    byId("text-anyway").focus();
    return true;
  }
}
