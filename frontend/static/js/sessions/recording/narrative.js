/**
 * A recording as something to read along: its utterances with the words and their places in the merged audio, and the
 * events around them, in seconds.
 *
 *   const narrative = narrativeOf(timeline);
 *   narrative.words[narrative.wordAt(3.2)].text
 *
 * Samples in a timeline count from the beginning of an utterance; `first_sample` of the utterance is its place in the
 * merged audio. Characters are code points.
 */

import { wordAt } from "../../shared/hearing/lit-words.js";

/** @param {object} timeline of GET /api/sessions/{id} */
export function narrativeOf({ utterances = [], events = [], audio_seconds: audioSeconds = 0, sample_rate: rate = null }) {
  const told = utterances.map((utterance) => tell(utterance, events));
  return new Narrative(told, eventsOf(utterances, events), audioSeconds, rate);
}

class Narrative {
  constructor(utterances, events, seconds, sampleRate) {
    this.utterances = utterances;
    this.events = events;
    this.seconds = seconds;
    this.sampleRate = sampleRate;
    /** All words, in the order of the audio. @type {{text, start, end, from, to, utterance}[]} */
    this.words = utterances.flatMap(({ words }) => words);
  }

  /** Index of the word that is spoken at a time, or of the last one before it; -1 before the first. */
  wordAt(seconds) {
    return wordAt(this.words, seconds);
  }
}

/** Samples of an utterance at which another worker went on: as told, or where audio came again after one was lost. */
function moves({ index, chunks, at, ended_at: endedAt }, events) {
  const told = events.filter((event) => event.kind === "moved" && event.index === index).map(({ sample }) => sample);
  if (told.length > 0) return told;
  const lost = events.filter(({ kind, at: when }) => /^worker_(lost|failed)$/.test(kind) && when >= at && when <= (endedAt ?? Infinity));
  return lost.map(({ at: when }) => chunks.find((chunk) => chunk.at > when)?.first_sample).filter(Number.isFinite);
}

/** Which worker spoke which part: [{from, to, worker}] in samples. */
function segments(utterance, events) {
  const { workers, samples } = utterance;
  const starts = [0, ...moves(utterance, events)].slice(0, Math.max(1, workers.length));
  return starts.map((from, part) => ({ from, to: starts[part + 1] ?? samples, worker: workers[part] ?? null }));
}

function tell(utterance, events) {
  const { index, text, sample_rate: rate, first_sample: first, samples } = utterance;
  const seconds = (sample) => (rate ? sample / rate : 0);
  const points = [...text];
  const words = utterance.words.map(({ start, end, first_sample: from, end_sample: to }) => ({
    text: points.slice(start, end).join(""),
    start,
    end,
    from: seconds(first + from),
    to: seconds(first + to),
    utterance: index,
  }));
  return {
    index,
    points,
    words,
    from: seconds(first),
    to: seconds(first + samples),
    outcome: utterance.outcome,
    workers: utterance.workers,
    segments: segments(utterance, events).map(({ from, to, worker }) => ({ from: seconds(first + from), to: seconds(first + to), worker })),
    migrations: utterance.migrations,
    chunks: utterance.chunks.map((chunk) => ({ from: seconds(first + chunk.first_sample), to: seconds(first + chunk.first_sample + chunk.samples) })),
    firstAudioSeconds: utterance.chunks.length ? utterance.chunks[0].at - utterance.at : null,
    at: utterance.at,
  };
}

/** Everything that happened, by time: utterances, changes of worker, and what was recorded as an event. */
function eventsOf(utterances, events) {
  const told = utterances.map(({ index, at, text, workers, migrations, outcome }) => ({ at, kind: "utterance", index, text, workers, migrations, outcome }));
  return [...told, ...events].sort((one, other) => one.at - other.at);
}
