/**
 * What is known of one utterance: its request, the audio so far and how fast it came.
 *
 * The clock is the browser's, so "first audio" is what the listener waited, network included.
 */
import { Envelope } from "../audio/envelope.js";
import { Pace } from "../audio/pace.js";
import { HEADER_BYTES, PcmDecoder, rateOf } from "../audio/pcm.js";
import { PIECE_SAMPLES, Tape } from "../audio/tape.js";
import { Subtitles } from "../shared/hearing/subtitles.js";

export class Utterance {
  #decoder = new PcmDecoder();
  #startedAt = null;
  #lastArrival = null;
  #pace = new Pace();

  #tape = new Tape();
  sampleRate = null;
  envelope = null;
  firstAudioSeconds = null;
  workerId = null;
  sessionId = null;
  /** What its listener calls it. */
  name = "";

  /** @param {object} request body of POST /tts @param {number} nowSeconds when it was sent */
  constructor(request, nowSeconds) {
    this.request = request;
    this.requestedAt = nowSeconds;
    this.subtitles = new Subtitles(request.text);
  }

  /** One that was kept: complete, with the figures of its day. @param {{request, figures, wav: Blob, times?: object[], name?: string}} entry */
  static async kept({ request, figures, wav, times = [], name = "" }) {
    const sampleRate = rateOf(await wav.slice(0, HEADER_BYTES).arrayBuffer());
    const utterance = new Utterance(request, 0);
    utterance.start({ sample_rate: sampleRate, worker_id: figures.worker_id ?? null, session_id: figures.session_id }, 0);
    utterance.#tape = Tape.of(wav.slice(HEADER_BYTES));
    for (let at = 0; at < utterance.samples; at += PIECE_SAMPLES) utterance.envelope.push(await utterance.read(at, PIECE_SAMPLES));
    utterance.subtitles = new Subtitles(request.text, times);
    utterance.name = name;
    utterance.firstAudioSeconds = figures.first_audio_heard ?? null;
    utterance.#lastArrival = (figures.rtf ?? NaN) * utterance.audioSeconds;
    return utterance;
  }

  /** A worker has taken it. */
  start({ sample_rate, worker_id, session_id = null }, nowSeconds) {
    this.sessionId = session_id;
    this.sampleRate = sample_rate;
    this.workerId = worker_id;
    this.envelope = new Envelope(sample_rate);
    this.#startedAt = nowSeconds;
  }

  /** @param {ArrayBuffer} bytes PCM s16le @returns {Int16Array} the samples in it */
  receive(bytes, nowSeconds) {
    const samples = this.#decoder.push(bytes);
    if (samples.length === 0) return samples;
    this.firstAudioSeconds ??= nowSeconds - this.requestedAt;
    this.#lastArrival = nowSeconds;
    this.#pace.observe(nowSeconds, samples.length / this.sampleRate);
    this.#tape.append(samples);
    this.envelope.push(samples);
    return samples;
  }

  /** How many samples have arrived. */
  get samples() {
    return this.#tape.samples;
  }

  /** @param {number} from sample @param {number} count at most so many @returns {Promise<Int16Array>} */
  read(from, count) {
    return this.#tape.read(from, count);
  }

  /** Whether audio comes more slowly than it is heard. */
  get slow() {
    return this.#pace.slow;
  }

  get audioSeconds() {
    return this.sampleRate ? this.samples / this.sampleRate : 0;
  }

  /** Seconds of waiting per second of audio since a worker took it, or null before any audio. */
  get realTimeFactor() {
    return this.samples === 0 ? null : (this.#lastArrival - this.#startedAt) / this.audioSeconds;
  }

  /** @returns {Blob} a WAV file of what has arrived */
  wav() {
    return this.#tape.wav(this.sampleRate);
  }
}
