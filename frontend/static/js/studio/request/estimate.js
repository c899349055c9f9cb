/**
 * How long a text takes to say, roughly: for the counter under the text and the first width of the
 * waveform. Typical reading speed: about 15 letters a second, or 4.5 Chinese characters, Japanese
 * kana or Korean syllables.
 */
const LETTERS_PER_SECOND = 15;
const IDEOGRAPHS_PER_SECOND = 4.5;
const IDEOGRAPH = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu;

/** Characters as the reader counts them: an emoji or an accented letter is one code point or more. */
export function characterCount(text) {
  return [...text].length;
}

/** @returns {number} seconds of speech, 0 for blank text */
export function estimateSeconds(text) {
  const spoken = text.trim().replace(/\s+/g, " ");
  const ideographs = spoken.match(IDEOGRAPH)?.length ?? 0;
  return ideographs / IDEOGRAPHS_PER_SECOND + (characterCount(spoken) - ideographs) / LETTERS_PER_SECOND;
}
