/** What a document that was read becomes: the request for a new book. */
const MOST_TITLE = 160;
const WORDS_OF_TITLE = 8;

/** A pasted text, as the file that it could have been. */
export function pastedFile(text) {
  return new File([text], "text.txt", { type: "text/plain" });
}

/** @param {{title: string | null, language: string | null, blocks: object[]}} read @param {string} fileName */
export function bookRequest({ title, language, blocks }, fileName, untitled) {
  const named = title?.trim() || (fileName === "text.txt" ? begins(blocks) : fileName.replace(/\.\w+$/, "")) || untitled;
  return { title: named.replace(/\s+/g, " ").slice(0, MOST_TITLE), ...(language ? { language } : {}), blocks };
}

/** The first words of a text, to tell it by. */
function begins(blocks) {
  const words = (blocks[0]?.text ?? "").split(/\s+/);
  return words.slice(0, WORDS_OF_TITLE).join(" ").slice(0, 60) + (words.length > WORDS_OF_TITLE ? " …" : "");
}
