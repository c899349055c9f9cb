/** The sheets of a book: a voice for what was found or selected, and the files to take along. */
import { h } from "../shared/page/dom.js";
import { shown } from "../shared/page/sheet.js";
import { integer } from "../i18n/format.js";
import { setMessage } from "./words.js";
import { found, parts } from "./manuscript/blocks.js";
import { VoiceMenu } from "./voices.js";

const EXCERPT = 120;
const FORMATS = ["m4b", "mp3", "wav", "srt", "vtt"];

/** Asks in a sheet with a title. @returns {Promise<string>} the value of the button */
function asked(id, key, ...content) {
  const form = h("form", { method: "dialog" }, h("h2", { id: `${id}-title`, "data-i18n": key }), ...content);
  return shown(h("dialog", { class: "sheet", id, "aria-labelledby": `${id}-title` }, form));
}

/** Cancelling submits nothing: Enter in a field would press the first button that does. */
function foot(...buttons) {
  const cancel = h("button", { class: "button", type: "button", onclick: () => cancel.closest("dialog").close(""), "data-i18n": "dialog.cancel" });
  return h("div", { class: "sheet-foot" }, cancel, ...buttons);
}

/** A menu with another voice than the book's chosen. */
function voiceField(voices, own) {
  const menu = new VoiceMenu(voices, { id: "sheet-voice", described: true });
  menu.show(voices.ids.find((id) => id !== own) ?? null, own);
  return { menu, field: h("div", { class: "stacked" }, h("label", { class: "label", for: "sheet-voice", "data-i18n": "book.voice" }), menu.element) };
}

/** @returns {Promise<string | null | undefined>} id of a voice; null: the book's; undefined: none was chosen */
export async function askVoice(voices, own) {
  const { menu, field } = voiceField(voices, own);
  const give = h("button", { class: "button button-primary", value: "give", "data-i18n": "bulk.voice" });
  return (await asked("voice-sheet", "bulk.voice", field, foot(give))) === "give" ? menu.value : undefined;
}

/** @returns {Promise<{keys: Set<string>, voice: string | null, quotedOnly: boolean} | null>} */
export async function askCast(blocks, voices, own) {
  const { menu, field } = voiceField(voices, own);
  const what = h("select", { id: "cast-what" }, [h("option", { value: "quoted", "data-i18n": "cast.quoted" }), h("option", { value: "whole", "data-i18n": "cast.whole" })]);
  const words = h("input", { type: "search", id: "cast-words", autocomplete: "off" });
  const spare = h("input", { type: "checkbox", id: "cast-spare", checked: true });
  const spareWords = h("span");
  const spareField = h("label", { class: "check" }, spare, spareWords);
  const count = h("p", { class: "quiet", role: "status" });
  const sample = h("ul", { class: "cast-sample" });
  const give = h("button", { class: "button button-primary", value: "give", "data-i18n": "cast.give" });
  const quotedOnly = () => what.value === "quoted";
  const hits = () => found(blocks, { words: words.value, quotedOnly: quotedOnly() });
  const wanted = () => hits().filter(({ voice }) => voice === null || !spare.checked);
  const look = () => {
    const given = hits().filter(({ voice }) => voice !== null).length;
    spareField.hidden = given === 0;
    setMessage(spareWords, "cast.spare", { count: integer(given) });
    const shownHits = wanted();
    setMessage(count, "cast.found", { count: integer(shownHits.length) });
    sample.replaceChildren(...shownHits.slice(0, 3).map(({ text }) => h("li", { dir: "auto" }, excerpt(text, quotedOnly()))));
    give.disabled = shownHits.length === 0;
  };
  for (const input of [what, words, spare]) input.addEventListener("input", look);
  look();
  const named = (key, input) => h("label", { class: "stacked" }, h("span", { class: "label", "data-i18n": key }), input);
  const about = h("p", { class: "quiet", "data-i18n": "cast.about" });
  const answer = await asked("cast-sheet", "cast.title", about, named("cast.what", what), named("cast.words", words), spareField, count, sample, field, foot(give));
  if (answer !== "give") return null;
  return { keys: new Set(wanted().map(({ key }) => key)), voice: menu.value, quotedOnly: quotedOnly() };
}

/** The beginning of a text, with what is given a voice marked. */
function excerpt(text, quotedOnly) {
  const begins = parts(text.slice(0, EXCERPT));
  return begins.map(({ text: part, quoted }) => (quoted || !quotedOnly ? h("b", {}, part) : part));
}

/** @param {number} missing blocks that are not made @returns {Promise<string>} a format, "make", or "" */
export function askFile(missing) {
  const row = (format) => h("button", { class: "file-choice", value: format, disabled: missing > 0 }, h("b", {}, format.toUpperCase()), h("span", { "data-i18n": `export.${format}` }));
  const lacking = missing > 0 && h("div", { class: "notice" }, setMessage(h("p"), "export.missing", { count: integer(missing) }), setMessage(h("button", { class: "button", value: "make" }), "book.makeMissing", { count: integer(missing) }));
  return asked("export-sheet", "export.title", lacking, h("div", { class: "file-choices" }, FORMATS.map(row)), foot());
}
