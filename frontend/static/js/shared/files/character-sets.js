/**
 * Which encoding a text has that is no UTF-8, by its writing, as the service finds it in the text of a book
 * (gateway/documents/reader/character_sets.py, where the rules are told). Bytes are looked at as characters of Latin-1.
 */
const LATIN = "windows-1252";
const CYRILLIC = ["windows-1251", "koi8-u", "ibm866", "iso-8859-5"];
const SAMPLE_BYTES = 2 ** 18;
const HIGH = /[\x80-\xff]/g;
const LETTER = /[A-Za-z]/g;
const LONG_RUN = /[\x80-\xff]{3,}/g;
const PAIR = /[\xa1-\xf7][\xa1-\xfe]/g;
const BIG5_RUN = /(?:[\xa1-\xf9][\x40-\x7e\xa1-\xfe]){2,}/g;
const [ALMOST, NEARLY_ALL, SOME, LEAST_KOREAN, LEAST_CYRILLIC, LEAST_SCORE] = [0.9, 0.95, 0.2, 20, 8, 0.7];
const BEYOND_ASCII = /[\x80-\u{10ffff}]/gu;
const KANA = /[\u3041-\u30fe]/g;
const COMMON = /[оеаинтсрвлкмдпуіюяызьб]/g;
const CAPITAL = /[А-ЯЀ-Џ]/g;
const CAPITAL_WITHIN = /(?<=[а-яѐ-џ])[А-ЯЀ-Џ]/g;
const LETTER_OF_CYRILLIC = /[\u0400-\u04ff]/g;
const SIGN = /[\xa0«»„“”‘’‚…–—•№©°§€]/g;

/** @param {Uint8Array} bytes that are no UTF-8 @returns {string | null} a name for TextDecoder; null: of no writing that is known here */
export function encodingOf(bytes) {
  const first = bytes.findIndex((byte) => byte > 0x7f);
  const sample = bytes.subarray(first, first + SAMPLE_BYTES);
  const latin1 = Array.from(sample, (byte) => String.fromCharCode(byte)).join("");
  const high = count(latin1, HIGH);
  if (isAlmostUtf8(sample, high)) return "utf-8";
  return ofManyCharacters(bytes, sample, latin1, high) ?? ofFew(bytes, sample, latin1, high);
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

function ofManyCharacters(bytes, sample, latin1, high) {
  const japanese = new TextDecoder("shift_jis").decode(sample);
  if (count(japanese, KANA) >= SOME * count(japanese, BEYOND_ASCII) && decoded(bytes, "shift_jis") !== null) return "shift_jis";
  const leads = (latin1.match(PAIR) ?? []).map((pair) => pair.charCodeAt(0));
  if (2 * leads.length >= ALMOST * high) {
    const tells = { "euc-jp": isJapanese, "euc-kr": isKorean, gb18030: isChinese };
    const found = Object.keys(tells).find((name) => tells[name](leads, sample) && decoded(bytes, name) !== null);
    if (found) return found;
  }
  const runs = (latin1.match(BIG5_RUN) ?? []).join("");
  const common = between([...runs].filter((_, place) => place % 2 === 0).map((lead) => lead.charCodeAt(0)), 0, 0xc6);
  const isBig5 = count(runs, HIGH) >= ALMOST * high && common >= (ALMOST * runs.length) / 2;
  return isBig5 && decoded(bytes, "big5") !== null ? "big5" : null;
}

function isJapanese(leads) {
  return between(leads, 0xa4, 0xa5) >= SOME * leads.length && between(leads, 0xb0, 0xcf) >= ALMOST * between(leads, 0xb0, 0xfe);
}

function isKorean(leads) {
  const letters = between(leads, 0xb0, 0xfe);
  return letters >= LEAST_KOREAN && between(leads, 0xb0, 0xc8) >= NEARLY_ALL * letters;
}

function isChinese(leads, sample) {
  return 2 * between(leads, 0xa1, 0xd7) >= leads.length || bestCyrillic(sample)[0] < LEAST_SCORE;
}

function ofFew(bytes, sample, latin1, high) {
  const alone = 2 * (latin1.match(LONG_RUN) ?? []).join("").length < high;
  const [score, encoding] = bestCyrillic(sample);
  const [few, letters] = [high < LEAST_CYRILLIC, count(latin1, LETTER)];
  if (!alone && score >= LEAST_SCORE && !(few && letters)) return encoding;
  if (alone || few || letters >= high) return LATIN;
  return decoded(bytes, "gb18030") === null ? null : "gb18030";
}

function bestCyrillic(sample) {
  const scores = CYRILLIC.map((name) => [cyrillicScore(new TextDecoder(name).decode(sample)), name]);
  return scores.reduce((best, one) => (one[0] > best[0] ? one : best));
}

function cyrillicScore(text) {
  const letters = count(text, LETTER_OF_CYRILLIC);
  if (!letters) return 0;
  const others = count(text, BEYOND_ASCII) - letters - count(text, SIGN);
  const capitals = count(text, CAPITAL) / 2 + 2 * count(text, CAPITAL_WITHIN);
  return (count(text.toLowerCase(), COMMON) - capitals - others) / letters;
}

function between(leads, first, last) {
  return leads.filter((lead) => lead >= first && lead <= last).length;
}

function count(text, pattern) {
  return text.match(pattern)?.length ?? 0;
}
