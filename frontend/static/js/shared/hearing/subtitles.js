/**
 * When the words of a clip are said, as the server tells part by part, and files of it: SRT, WebVTT, JSON.
 *
 *   const subtitles = new Subtitles("Hello there.");
 *   subtitles.take({ source: "aligned", words: [...], cues: [{ text, start_seconds, end_seconds, ... }] });
 *   subtitles.file("srt")
 */
const TYPES = { srt: "application/x-subrip", vtt: "text/vtt", json: "application/json" };
export const SUBTITLE_FORMATS = Object.keys(TYPES);

export class Subtitles {
  #text;
  #parts = new Map();

  /** @param {string} text of the clip @param {object[]} parts as `parts` gave them */
  constructor(text, parts = []) {
    this.#text = text;
    for (const part of parts) this.take(part);
  }

  /** A message `timestamps`. A part that is told again after a reconnection counts once. */
  take({ source, words, cues }) {
    if (words.length > 0) this.#parts.set(words[0].start, { source, words, cues });
  }

  /** What was told, in the order of the text: plain values, to be kept. */
  get parts() {
    return [...this.#parts.values()].sort((a, b) => a.words[0].start - b.words[0].start);
  }

  /** "aligned", "estimated" or "mixed"; null where nothing was told. */
  get source() {
    const sources = new Set(this.parts.map(({ source }) => source));
    return sources.size > 1 ? "mixed" : ([...sources][0] ?? null);
  }

  /** @param {string} format of SUBTITLE_FORMATS @returns {Blob} */
  file(format) {
    const cues = this.parts.flatMap((part) => part.cues);
    const content = { srt: () => srt(cues), vtt: () => vtt(cues), json: () => this.#json(cues) }[format]();
    return new Blob([content], { type: TYPES[format] });
  }

  #json(cues) {
    const words = this.parts.flatMap((part) => part.words);
    return JSON.stringify({ source: this.source, text: this.#text, words, cues });
  }
}

function srt(cues) {
  const times = ({ start_seconds: start, end_seconds: end }) => `${clock(start, ",")} --> ${clock(end, ",")}`;
  return cues.map((cue, index) => `${index + 1}\n${times(cue)}\n${cue.text}\n`).join("\n");
}

function vtt(cues) {
  const times = ({ start_seconds: start, end_seconds: end }) => `${clock(start, ".")} --> ${clock(end, ".")}`;
  return `WEBVTT\n${cues.map((cue) => `\n${times(cue)}\n${escaped(cue.text)}\n`).join("")}`;
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** 3661.25 -> "01:01:01,250" */
function clock(seconds, point) {
  const milliseconds = Math.round(1000 * seconds);
  const parts = [3_600_000, 60_000, 1000].map((unit, index) => Math.floor(milliseconds / unit) % (index ? 60 : Infinity));
  const whole = parts.map((part) => String(part).padStart(2, "0")).join(":");
  return `${whole}${point}${String(milliseconds % 1000).padStart(3, "0")}`;
}
