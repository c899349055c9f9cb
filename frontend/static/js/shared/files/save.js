/** A file for the reader. */
import { h } from "../page/dom.js";

const REVOKE_AFTER_MS = 30_000;

/** @param {Blob} blob @param {string} name */
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), REVOKE_AFTER_MS);
}
