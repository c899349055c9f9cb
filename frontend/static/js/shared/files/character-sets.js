/**
 * Which encoding a text has, by its writing, as the service finds it in the text of a book
 * (gateway/documents/reader/plain/character_sets.py, where the rules are told). Bytes are looked at as characters of Latin-1.
 */
import { CHARACTERS, ENCODINGS, LATIN, LETTERS } from "./writings.js";

const WESTERN = "windows-1252";
/** Of the bytes 0x80 to 0x9f, which TextDecoder of some versions of Node leaves undone. */
const WESTERN_SIGNS = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";
const JAPANESE_OF_MAIL = "iso-2022-jp";
const ESCAPE = /\x1b(?:\$[@B]|\([JI])/;
const [BEFORE_BYTES, SAMPLE_BYTES] = [512, 2 ** 16];
const HIGH = /[\x80-\xff]/g;
const LETTER = /[A-Za-z]/g;
const BEYOND_ASCII = /[\x80-\u{10ffff}]/gu;
const ALMOST = 0.9;
const DECAY = 4;
const ASCII_SHARE = 20;
const [ASCII, UNKNOWN_ASCII, UNKNOWN, SIGN] = [3.3, 7, 9, 5];
const [FAULT, MIXED, LONE, BESIDE] = [4, 6, 2.5, 2];
const [FREQUENT, SELDOM, FREQUENT_HANGUL, HANGUL, HIRAGANA, KATAKANA] = [5.6, 8.3, 5, 8, 4.3, 5];
const [STOP, WIDE, STRANGE] = [4.5, 7, 13];
const RELUCTANCE = { [WESTERN]: 0, "windows-1251": 1, gb18030: 1, "iso-8859-2": 3.2, "iso-8859-7": 3.2 };
const USUAL_RELUCTANCE = 2.5;
const MOST = 7.5;
const SIGNS = "\xa0«»„“”‘’‚…–—•№©°§€¿¡£·‹›×™®½¼¾²³";
const MARKS_OF_DIRECTION = "\u200c\u200d\u200e\u200f\xad،؛؟־״׳";
const STOPS = "。，、：；？！「」『』“”‘’（）《》…—·\u3000・ー～";
const POINTS = "\u0e31-\u0e4e\u0591-\u05c2\u064b-\u0652";
const FAULTS = new RegExp(
  `(?<=\\p{Lowercase})\\p{Uppercase}|(?<=\\p{L})[${SIGNS.replace("’", "")}](?=\\p{L})` +
    "|[ςםןךףץةى](?=\\p{L})|(?<=\\p{L})[σמנכפצ](?!\\p{L}|[\u05b0-\u05c2'\"׳״])",
  "gu",
);
const FAULTS_OF = {
  "windows-874": /(?<![ก-๎])[ัิีึืุู็่้๊๋์ำะ]|[เแโใไ](?![ก-ฮ])|[ัิีึืุูเแโใไ็ำะ][ัิีึืุู็ำะๅ]/g,
  "windows-1258": /(?<=[a-zăâêôơư])đ/g,
};
const TWO_SCRIPTS = /(?<=[A-Za-z])(?![A-Za-z])\p{L}|(?![A-Za-z])\p{L}(?=[A-Za-z])/gu;
const ALONE = new RegExp(`(?<!\\p{L}|[${POINTS}])(?![A-Za-z])\\p{L}(?!\\p{L}|[${POINTS}])`, "gu");
const BESIDE_ASCII = /(?<=[A-Za-z])[\u3041-\u9fff\uac00-\ud7a3]|[\u3041-\u9fff\uac00-\ud7a3](?=[A-Za-z])/g;
const COSTS = Object.fromEntries(Object.entries(LETTERS).map(([language, letters]) => [language, byRank(letters)]));
const FREQUENT_ONES = Object.fromEntries(Object.entries(CHARACTERS).map(([language, ones]) => [language, new Set(ones)]));

/** @param {Uint8Array} bytes without a mark @returns {string | null} a name for TextDecoder; null: of no writing that is known here */
export function encodingOf(bytes) {
  const first = bytes.findIndex((byte) => byte > 0x7f);
  if (first < 0) return bytes.includes(0x1b) && ESCAPE.test(new TextDecoder().decode(bytes)) ? JAPANESE_OF_MAIL : "utf-8";
  if (decoded(bytes, "utf-8") !== null) return "utf-8";
  const start = Math.max(0, first - BEFORE_BYTES);
  const sample = bytes.subarray(start, start + SAMPLE_BYTES);
  const latin1 = latin1Of(sample);
  const high = count(latin1, HIGH);
  return isAlmostUtf8(sample, high) ? "utf-8" : guessed(sample, high, count(latin1, LETTER));
}

/** @param {Uint8Array} bytes @param {string} encoding @returns {string | null} null where the bytes are nothing of this encoding */
export function decoded(bytes, encoding) {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function isAlmostUtf8(sample, high) {
  const whole = new TextDecoder("utf-8").decode(sample).match(BEYOND_ASCII)?.filter((one) => one !== "\ufffd") ?? [];
  return new TextEncoder().encode(whole.join("")).length >= ALMOST * high;
}

function guessed(sample, high, asciiLetters) {
  const weight = Math.min(1, (ASCII_SHARE * high) / Math.max(asciiLetters, 1));
  const costs = Object.keys(ENCODINGS).map((name) => [costOf(sample, name, weight), name]);
  const [cost, best] = costs.reduce((least, one) => (one[0] < least[0] ? one : least));
  return cost > MOST * high && high >= asciiLetters ? null : best;
}

function costOf(sample, encoding, weight) {
  const text = charactersOf(sample, encoding);
  const counts = new Map();
  for (const one of text) counts.set(one, (counts.get(one) ?? 0) + 1);
  const costs = ENCODINGS[encoding].map((language) => {
    let cost = 0;
    for (const [one, times] of counts) cost += unlikeliness(one, encoding, language, weight) * times;
    return cost;
  });
  return Math.min(...costs) + faultsOf(text, encoding) + (RELUCTANCE[encoding] ?? USUAL_RELUCTANCE);
}

function charactersOf(sample, encoding) {
  const text = new TextDecoder(encoding).decode(sample);
  return encoding === WESTERN ? text.replace(/[\x80-\x9f]/g, (one) => WESTERN_SIGNS[one.charCodeAt(0) - 0x80]) : text;
}

function unlikeliness(one, encoding, language, weight) {
  if (one < "\x80") {
    const likely = LATIN.includes(encoding) ? (COSTS[language].get(one.toLowerCase()) ?? UNKNOWN_ASCII) : ASCII;
    return /[A-Za-z]/.test(one) ? weight * likely : 0;
  }
  if (language in CHARACTERS) return ofMany(one, language);
  const isSign = SIGNS.includes(one) || MARKS_OF_DIRECTION.includes(one);
  return COSTS[language].get(one.toLowerCase()[0]) ?? (isSign ? SIGN : UNKNOWN);
}

function ofMany(one, language) {
  if (FREQUENT_ONES[language].has(one)) return language === "ko" ? FREQUENT_HANGUL : FREQUENT;
  if (language === "ja" && one >= "\u3041" && one <= "\u30fe") return one <= "\u3096" ? HIRAGANA : KATAKANA;
  if (language === "ko" && one >= "\uac00" && one <= "\ud7a3") return HANGUL;
  if (language !== "ko" && one >= "\u4e00" && one <= "\u9fff") return SELDOM;
  if (STOPS.includes(one)) return STOP;
  if (one >= "\uff01" && one <= "\uff5e") return WIDE;
  return SIGNS.includes(one) ? UNKNOWN : STRANGE;
}

function faultsOf(text, encoding) {
  let cost = FAULT * count(text, FAULTS);
  if (encoding in FAULTS_OF) cost += FAULT * count(text, FAULTS_OF[encoding]);
  if (ENCODINGS[encoding][0] in CHARACTERS) cost += BESIDE * count(text, BESIDE_ASCII);
  else if (!LATIN.includes(encoding)) cost += MIXED * count(text, TWO_SCRIPTS) + LONE * count(text, ALONE);
  return cost;
}

function byRank(letters) {
  const steps = Array.from(letters, (_, rank) => (DECAY * rank) / letters.length);
  const whole = Math.log(steps.reduce((sum, step) => sum + Math.exp(-step), 0));
  return new Map(Array.from(letters, (letter, rank) => [letter, whole + steps[rank]]));
}

function latin1Of(bytes) {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
}

function count(text, pattern) {
  return text.match(pattern)?.length ?? 0;
}
