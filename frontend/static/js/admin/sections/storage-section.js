/**
 * Recorded sessions and the room they take: how many, how large, and what the clean-up goes by.
 */
import { h } from "../../shared/page/dom.js";
import { bytes, duration, integer } from "../../i18n/format.js";
import { Section } from "./section.js";
import { t } from "../words.js";

export class StorageSection extends Section {
  #answer = null;

  constructor(page) {
    super("storage", "/api/sessions/storage", page);
    window.addEventListener("languageset", () => this.#answer && this.show(this.#answer));
  }

  /** @param {object} answer of GET /api/sessions/storage */
  show(answer) {
    this.#answer = answer;
    const { count, used, limit } = storageFigures(answer);
    const meter = limit && h("progress", { max: limit, value: Math.min(used, limit), "data-i18n-label": "admin.storageUsed" });
    const parts = [
      h("p", { class: "storage-figure" }, h("b", {}, bytes(used)), h("span", {}, t("admin.storageCount", { count: integer(count) }))),
      meter,
      h("p", { class: "quiet" }, limits(storageFigures(answer))),
      h("p", { class: "quiet" }, others(storageFigures(answer))),
      h("a", { class: "button", href: "/sessions", "data-i18n": "admin.openSessions" }),
    ];
    this.body.replaceChildren(...parts.filter(Boolean));
  }
}

/** Count, bytes and limits of an answer; null where there is no such limit. */
export function storageFigures({ count, bytes: used, voices_bytes: voices, free_bytes: free, limits = {} }) {
  const { max_storage_gb: all, max_owner_gb: each, min_free_disk_gb: floor, retention_days: days } = limits;
  const size = (gigabytes) => (gigabytes ? gigabytes * 1e9 : null);
  const known = { voices: voices ?? null, free: free ?? null };
  return { count, used, ...known, limit: size(all), ownerLimit: size(each), floor: size(floor), days: days ?? null };
}

function limits({ limit, ownerLimit, days }) {
  const facts = [
    limit && t("admin.storageLimit", { size: bytes(limit) }),
    ownerLimit && t("admin.storageOwner", { size: bytes(ownerLimit) }),
    days && t("admin.storageDays", { time: duration(days * 86400) }),
  ].filter(Boolean);
  return facts.length ? facts.join(" · ") : t("admin.storageUnlimited");
}

function others({ voices, free, floor }) {
  const facts = [
    voices !== null && t("admin.storageVoices", { size: bytes(voices) }),
    free !== null && t("admin.storageFree", { size: bytes(free) }),
    floor && t(free !== null && free < floor ? "admin.storageFull" : "admin.storageFloor", { size: bytes(floor) }),
  ];
  return facts.filter(Boolean).join(" · ");
}
