/**
 * The text of a live session and what became of each character: waiting, spoken, heard or dropped.
 *
 * Characters are counted in code points over all appended text, samples over all audio that the server sent: as in
 * the messages "utterance", "utterance_done" and "cancelled".
 */
const CHARACTERS_PER_SECOND = 15;
const QUOTE_CHARACTERS = 60;
/** Share of a word that has just begun. */
const BEGUN = 0.01;

export class Script {
  #characters = [];
  #utterances = new Map();
  #dropped = [];
  /** Character after the last utterance, or after what was dropped. */
  #begun = 0;

  /** Of the audio; known from "started" on. */
  sampleRate = 24000;

  /** @param {string} text */
  append(text) {
    this.#characters.push(...text);
  }

  get length() {
    return this.#characters.length;
  }

  get utterances() {
    return this.#utterances.size;
  }

  get utterancesDone() {
    return [...this.#utterances.values()].filter(({ end_sample: end }) => end !== null).length;
  }

  /** Characters of which nobody has begun to speak. */
  get waiting() {
    return this.length - this.#begun;
  }

  /** What was appended and is not spoken to the end of its sentence; a sentence that was begun is whole. */
  get unspoken() {
    const open = [...this.#utterances.values()].find(({ end_sample: end }) => end === null);
    return this.text(open ? open.start : this.#begun, this.length);
  }

  /** The same of what is not heard to the end of its sentence. @param {number} character that is heard now */
  unheardAfter(character) {
    const open = [...this.#utterances.values()].find(({ end, cut }) => cut === undefined && end > character);
    return this.text(open ? open.start : this.#begun, this.length);
  }

  /** Whether a whole sentence waits: then silence is a gap, and no end. */
  get hasSentence() {
    return /[.!?\u3002\uff01\uff1f\u2026](\s|$)|[\u3002\uff01\uff1f]/u.test(this.text(this.#begun, this.length));
  }

  /** Characters [start, end) as text. */
  text(start, end) {
    return this.#characters.slice(start, end).join("");
  }

  /** @param {{index: number, start: number, end: number, first_sample: number}} news */
  utterance({ index, start, end, first_sample: first }) {
    this.#utterances.set(index, { start, end, first_sample: first, end_sample: null, received: 0, words: [] });
    this.#begun = Math.max(this.#begun, end);
  }

  /** @param {number} endSample of the session, to which audio has come */
  received(endSample) {
    const last = [...this.#utterances.values()].at(-1);
    if (last && last.end_sample === null) last.received = Math.max(0, endSample - last.first_sample);
  }

  /** @param {{index: number, words: object[]}} news when words of an utterance are said, in order */
  timed({ index, words }) {
    this.#utterances.get(index)?.words.push(...words);
  }

  /** @param {{index: number, last_sample: number}} news */
  done({ index, last_sample: end }) {
    const utterance = this.#utterances.get(index);
    if (utterance) utterance.end_sample = end;
  }

  /**
   * A barge-in: of what was appended before, nothing after the spoken characters will be heard.
   * @param {number} spokenCharacters @param {number} appended how much was appended when it was asked for
   */
  cancelled(spokenCharacters, appended) {
    for (const utterance of this.#utterances.values()) {
      if (utterance.end_sample === null) utterance.end_sample = utterance.first_sample + utterance.received;
      if (utterance.end > spokenCharacters) utterance.cut = Math.max(utterance.start, spokenCharacters);
    }
    this.#begun = Math.max(this.#begun, appended);
    if (appended > spokenCharacters) this.#dropped.push([spokenCharacters, appended]);
  }

  /** Whether a barge-in dropped this character. */
  isDropped(character) {
    return this.#dropped.some(([start, end]) => start <= character && character < end);
  }

  /** The first characters of what was dropped, in order. */
  get cuts() {
    return this.#dropped.map(([start]) => start);
  }

  /**
   * The character that is heard at a sample of the session: all before it were. Where it is not told when the words
   * are said, by the share of the utterance; of one that is still being made the length is guessed from those before.
   */
  characterAt(sample) {
    let heard = 0;
    for (const utterance of this.#utterances.values()) {
      if (sample <= utterance.first_sample) break;
      const over = utterance.end_sample !== null && sample >= utterance.end_sample; // words may end later, by rounding
      heard = Math.min(utterance.cut ?? utterance.end, over ? utterance.end : this.#characterIn(utterance, sample));
    }
    return heard;
  }

  #characterIn({ words, ...utterance }, sample) {
    const { start, end, first_sample: first } = utterance;
    const seconds = sample / this.sampleRate;
    const place = words.findIndex(({ end_seconds: until }) => seconds < until);
    if (place < 0) {
      const told = words.at(-1) ?? { end: start, end_seconds: first / this.sampleRate };
      const from = told.end_seconds * this.sampleRate;
      const share = Math.min(1, (sample - from) / Math.max(1, first + this.#samplesOf(utterance) - from));
      return told.end + Math.floor(share * (end - told.end));
    }
    const { start: begin, end: last, start_seconds: since, end_seconds: until } = words[place];
    if (seconds < since) return words[place - 1]?.end ?? start;
    return begin + Math.max(BEGUN, (seconds - since) / (until - since)) * (last - begin);
  }

  #samplesOf({ start, end, cut, first_sample: first, end_sample: known, received }) {
    if (known !== null && cut === undefined) return Math.max(1, known - first);
    const complete = [...this.#utterances.values()].filter((one) => one.end_sample !== null && one.cut === undefined);
    const samples = complete.reduce((sum, one) => sum + one.end_sample - one.first_sample, 0);
    const characters = complete.reduce((sum, one) => sum + one.end - one.start, 0);
    const each = characters && samples ? samples / characters : this.sampleRate / CHARACTERS_PER_SECOND;
    return Math.max(1, received, each * (end - start));
  }
}

/** The end of a text, from the beginning of a word. */
export function lastWords(text) {
  if (text.length <= QUOTE_CHARACTERS) return text;
  return `…${text.slice(-QUOTE_CHARACTERS).replace(/^\S*\s+/, "")}`;
}
