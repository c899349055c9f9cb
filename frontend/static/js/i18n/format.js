/**
 * Numbers as the reader writes them. Every function takes a missing value and answers with a dash.
 */
import { locale } from "./i18n.js";

const MISSING = "–";
const present = (value) => typeof value === "number" && Number.isFinite(value);

/** 0.214 -> "214 ms", 2.34 -> "2.3 s" */
export function latency(seconds) {
  if (!present(seconds)) return MISSING;
  return seconds < 1 ? `${Math.round(seconds * 1000)} ms` : `${decimal(seconds, 1)} s`;
}

/** 63.4 -> "1:03.4" */
export function clock(seconds) {
  if (!present(seconds)) return MISSING;
  const tenths = Math.max(0, Math.floor(seconds * 10 + 1e-6));
  const minutes = Math.floor(tenths / 600);
  return `${minutes}:${String(Math.floor(tenths / 10) % 60).padStart(2, "0")}.${tenths % 10}`;
}

/** 63.4 -> "1:04" */
export function minutes(seconds) {
  return present(seconds) ? clock(Math.ceil(seconds)).replace(/\.\d$/, "") : MISSING;
}

/** 93784 -> "1 d 2 h", 3725 -> "1 h 2 min", 65 -> "1 min 5 s" */
export function duration(seconds) {
  if (!present(seconds)) return MISSING;
  const whole = Math.max(0, Math.floor(seconds));
  const parts = [
    [Math.floor(whole / 86400), "d"],
    [Math.floor(whole / 3600) % 24, "h"],
    [Math.floor(whole / 60) % 60, "min"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  if (first < 0) return "0 s";
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(" ");
}

/** 812_646_400 -> "775 MiB" */
export function bytes(count) {
  if (!present(count)) return MISSING;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(count) / 10));
  const value = count / 1024 ** power;
  return `${decimal(value, value < 10 && power > 0 ? 1 : 0)} ${units[power]}`;
}

/** (2.345, 1) -> "2.3", "2,3" where that is how it is written */
export function decimal(value, digits) {
  if (!present(value)) return MISSING;
  return value.toLocaleString(locale(), { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** 10482 -> "10,482", "10.482" or "10 482" */
export function integer(value) {
  return decimal(value, 0);
}

/** 0.2137 -> "0.21" */
export function ratio(value) {
  return decimal(value, 2);
}
