/** The sheets of a book: a voice for what was found or selected, and the files to take along. */
import { h } from "../shared/dom.js";
import { integer } from "../shared/format.js";
import { setMessage } from "./words.js";
import { found } from "./blocks.js";
import { tint } from "./voices.js";

const FORMATS = ["m4b", "mp3", "wav", "srt", "vtt"];

/** Shows a sheet until it is closed. @returns {Promise<string>} the value of the button */
function shown(id, key, ...content) {
  const form = h("form", { method: "dialog" }, h("h2", { id: `${id}-title`, "data-i18n": key }), ...content);
  const sheet = h("dialog", { class: "sheet", id, "aria-labelledby": `${id}-title` }, form);
  document.body.append(sheet);
  sheet.showModal();
  return new Promise((resolve) => {
    sheet.addEventListener("close", () => {
      sheet.remove();
      resolve(sheet.returnValue);
    });
  });
}

function foot(...buttons) {
  return h("div", { class: "sheet-foot" }, h("button", { class: "button", value: "", formnovalidate: true, "data-i18n": "dialog.cancel" }), ...buttons);
}

function voiceField(voices, own) {
  const dot = h("i", { class: "voice-dot" });
  const select = h("select", { id: "sheet-voice" });
  voices.fill(select, null, own);
  const follow = () => tint(dot, select.value || own);
  select.addEventListener("change", follow);
  follow();
  return { select, field: h("label", { class: "stacked" }, h("span", { class: "label", "data-i18n": "book.voice" }), h("span", { class: "book-voice" }, dot, select)) };
}

/** @returns {Promise<string | null | undefined>} id of a voice; null: the book's; undefined: none was chosen */
export async function askVoice(voices, own) {
  const { select, field } = voiceField(voices, own);
  const give = h("button", { class: "button button-primary", value: "give", "data-i18n": "bulk.voice" });
  return (await shown("voice-sheet", "bulk.voice", field, foot(give))) === "give" ? select.value || null : undefined;
}

/** @returns {Promise<{keys: Set<string>, voice: string | null, quotedOnly: boolean} | null>} */
export async function askCast(blocks, voices, own) {
  const { select, field } = voiceField(voices, own);
  const what = h("select", { id: "cast-what" }, [h("option", { value: "quoted", "data-i18n": "cast.quoted" }), h("option", { value: "whole", "data-i18n": "cast.whole" })]);
  const words = h("input", { type: "search", id: "cast-words", autocomplete: "off" });
  const count = h("p", { class: "quiet", role: "status" });
  const sample = h("ul", { class: "cast-sample" });
  const give = h("button", { class: "button button-primary", value: "give", "data-i18n": "cast.give" });
  const wanted = () => ({ words: words.value, quotedOnly: what.value === "quoted" });
  const look = () => {
    const hits = found(blocks, wanted());
    setMessage(count, "cast.found", { count: integer(hits.length) });
    sample.replaceChildren(...hits.slice(0, 3).map(({ text }) => h("li", { dir: "auto" }, text.slice(0, 120))));
    give.disabled = hits.length === 0;
  };
  for (const input of [what, words]) input.addEventListener("input", look);
  look();
  const named = (key, input) => h("label", { class: "stacked" }, h("span", { class: "label", "data-i18n": key }), input);
  const about = h("p", { class: "quiet", "data-i18n": "cast.about" });
  const answer = await shown("cast-sheet", "cast.title", about, named("cast.what", what), named("cast.words", words), count, sample, field, foot(give));
  if (answer !== "give") return null;
  return { keys: new Set(found(blocks, wanted()).map(({ key }) => key)), voice: select.value || null, quotedOnly: wanted().quotedOnly };
}

/** @param {number} missing blocks that are not made @returns {Promise<string>} a format, "make", or "" */
export function askFile(missing) {
  const row = (format) => h("button", { class: "file-choice", value: format, disabled: missing > 0 }, h("b", {}, format.toUpperCase()), h("span", { "data-i18n": `export.${format}` }));
  const lacking = missing > 0 && h("div", { class: "notice" }, setMessage(h("p"), "export.missing", { count: integer(missing) }), setMessage(h("button", { class: "button", value: "make" }), "book.makeMissing", { count: integer(missing) }));
  return shown("export-sheet", "export.title", lacking, h("div", { class: "file-choices" }, FORMATS.map(row)), foot());
}
