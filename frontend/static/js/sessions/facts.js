/**
 * What is told of a session beside its title.
 */
import { bytes, duration } from "../i18n/format.js";
import { nameOfVoice } from "../voices/voice-names.js";
import { locale, t } from "./words.js";

/** Files that say when words are said. */
export const WORD_FORMATS = ["srt", "vtt", "json"];

/** A point in time as the reader writes it; of today the time alone. */
export function when(iso, now = new Date()) {
  const time = new Date(iso);
  const options = { hour: "2-digit", minute: "2-digit" };
  if (time.toDateString() === now.toDateString()) return t("sessions.today", { time: time.toLocaleTimeString(locale(), options) });
  return time.toLocaleString(locale(), { ...options, year: "numeric", month: "short", day: "numeric" });
}

/** "clip" or "live" in the reader's words. */
export function kindText(kind) {
  return kind === "live" ? t("sessions.live") : t("sessions.clip");
}

/** Length, size and voice in one line. */
export function sizeFacts({ audio_seconds: seconds, size_bytes: size, utterances, voice }) {
  return [
    duration(Math.round(seconds)),
    bytes(size),
    utterances > 1 && t("sessions.utterances", { count: utterances }),
    voice !== "default" && nameOfVoice(voice),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The seed with which it is spoken again as it was; of several utterances there are several. */
export function seedText({ utterances, seed }) {
  return utterances <= 1 && Number.isFinite(seed) ? t("sessions.seed", { seed }) : "";
}

/** A session without a title still has a name. */
export function titleOf({ title }) {
  return title.trim() || t("sessions.untitled");
}
