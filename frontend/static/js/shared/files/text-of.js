/**
 * What is written in a text file: by its mark, else as its form or its writing tells, as the service reads the text of a
 * book.
 */
import { ApiError, unreadable } from "../../client/http.js";
import { encodingOf } from "./character-sets.js";

/** Has the marks of tones apart from their letters. */
const VIETNAMESE = "windows-1258";
const MARKS = { "utf-16le": [0xff, 0xfe], "utf-16be": [0xfe, 0xff] };

/** @param {Blob} file @throws {ApiError} */
export async function textOf(file) {
  const content = await file.arrayBuffer().catch(() => {
    throw unreadable();
  });
  const bytes = new Uint8Array(content);
  const marked = Object.keys(MARKS).find((name) => MARKS[name].every((byte, place) => bytes[place] === byte));
  if (marked) return new TextDecoder(marked).decode(bytes);
  const encoding = encodingOf(bytes);
  if (!encoding) throw new ApiError(0, { message: "The encoding of the text cannot be told.", code: "document_encoding" });
  const text = new TextDecoder(encoding).decode(bytes);
  return encoding === VIETNAMESE ? text.normalize() : text;
}
