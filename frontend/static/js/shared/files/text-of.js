/**
 * What is written in a text file: by its mark, else UTF-8 where it is that, else GB 18030 where it looks Chinese, else
 * Windows-1252, as the service reads the text of a book (gateway/documents/reader/plain_text.py).
 */
import { unreadable } from "../../client/http.js";

const MARKS = { "utf-16le": [0xff, 0xfe], "utf-16be": [0xfe, 0xff] };
const CHINESE_PAIR = /[\xa1-\xf7][\xa1-\xfe]/g;
/** Of the bytes beyond ASCII, in pairs of GB 2312. */
const LEAST_CHINESE_SHARE = 0.9;

/** @param {Blob} file @throws {ApiError} */
export async function textOf(file) {
  const content = await file.arrayBuffer().catch(() => {
    throw unreadable();
  });
  const bytes = new Uint8Array(content);
  const marked = Object.keys(MARKS).find((name) => MARKS[name].every((byte, place) => bytes[place] === byte));
  if (marked) return new TextDecoder(marked).decode(bytes);
  const western = new TextDecoder("windows-1252").decode(bytes);
  return decoded(bytes, "utf-8") ?? (looksChinese(bytes, western) ? decoded(bytes, "gb18030") : null) ?? western;
}

/** Null where the bytes are nothing of this encoding. */
function decoded(bytes, encoding) {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

function looksChinese(bytes, western) {
  const high = bytes.reduce((count, byte) => count + (byte > 0x7f), 0);
  return 2 * (western.match(CHINESE_PAIR)?.length ?? 0) >= LEAST_CHINESE_SHARE * high;
}
