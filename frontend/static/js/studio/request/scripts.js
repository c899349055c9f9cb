/**
 * Which letters of a text a model cannot read, told by their script: no language of the model is written in it.
 *
 *   unreadScripts("Добрый день", ["en"])   // ["Cyrl"]
 *   unreadScripts("Good day", ["en"])      // []
 *
 * Only what is sure: Latin letters are never told, nor anything where a model does not say what it speaks.
 */
const SHARE = 0.2;

/** ISO 15924 code -> its letters, and the languages that are written in them. */
const SCRIPTS = {
  Hani: [/\p{Script=Han}/gu, "zh yue ja ko wuu nan hak"],
  Hrkt: [/[\p{Script=Hiragana}\p{Script=Katakana}]/gu, "ja"],
  Hang: [/\p{Script=Hangul}/gu, "ko"],
  Cyrl: [/\p{Script=Cyrillic}/gu, "ru uk be bg sr mk kk ky mn tg tt"],
  Grek: [/\p{Script=Greek}/gu, "el"],
  Arab: [/\p{Script=Arabic}/gu, "ar fa ur ps ug sd ckb"],
  Hebr: [/\p{Script=Hebrew}/gu, "he yi"],
  Deva: [/\p{Script=Devanagari}/gu, "hi mr ne sa"],
  Beng: [/\p{Script=Bengali}/gu, "bn as"],
  Taml: [/\p{Script=Tamil}/gu, "ta"],
  Telu: [/\p{Script=Telugu}/gu, "te"],
  Thai: [/\p{Script=Thai}/gu, "th"],
  Khmr: [/\p{Script=Khmer}/gu, "km"],
  Laoo: [/\p{Script=Lao}/gu, "lo"],
  Mymr: [/\p{Script=Myanmar}/gu, "my"],
  Geor: [/\p{Script=Georgian}/gu, "ka"],
  Armn: [/\p{Script=Armenian}/gu, "hy"],
  Ethi: [/\p{Script=Ethiopic}/gu, "am ti"],
};

/**
 * @param {string} text @param {string[]} languages that the model announces, ISO 639 codes
 * @returns {string[]} ISO 15924 codes of scripts that a fifth of the text is written in and that it cannot read
 */
export function unreadScripts(text, languages = []) {
  if (languages.length === 0) return [];
  const spoken = new Set(languages.map((code) => code.toLowerCase().split("-")[0]));
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  return Object.entries(SCRIPTS)
    .filter(([, [pattern, written]]) => {
      if (written.split(" ").some((code) => spoken.has(code))) return false;
      return (text.match(pattern)?.length ?? 0) > letters * SHARE;
    })
    .map(([code]) => code);
}
