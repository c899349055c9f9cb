/** What a document had that could not be read: the shelf keeps it for the page of the book, which tells it once. */
import { ofTab } from "../shared/page/storage.js";

const key = (bookId) => `voxfleet.book.${bookId}`;

/** @param {string} bookId @param {({message: string} | string)[]} warnings of the service */
export function keepWarnings(bookId, warnings = []) {
  if (warnings.length > 0) ofTab.setItem(key(bookId), JSON.stringify(warnings));
}

/** @param {string} bookId @returns {string} what is to be told, once */
export function takeWarnings(bookId) {
  const kept = JSON.parse(ofTab.getItem(key(bookId)) ?? "[]");
  ofTab.removeItem(key(bookId));
  return kept.map((one) => (typeof one === "string" ? one : one.message)).join(" ");
}
