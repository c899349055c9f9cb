/**
 * Recorded sessions and the room they take: how many, how large, and what the clean-up goes by.
 */
import { h } from "../shared/dom.js";
import { bytes, duration, integer } from "../shared/format.js";
import { Section } from "./section.js";
import { t } from "./words.js";

export class StorageSection extends Section {
  #answer = null;

  constructor(page) {
    super("storage", "/api/sessions/storage", page);
    window.addEventListener("languageset", () => this.#answer && this.show(this.#answer));
  }

  /** @param {object} answer of GET /api/sessions/storage */
  show(answer) {
    this.#answer = answer;
    const { count, used, limit, days } = storageFigures(answer);
    const meter = limit && h("progress", { max: limit, value: Math.min(used, limit), "data-i18n-label": "admin.storageUsed" });
    const parts = [
      h("p", { class: "storage-figure" }, h("b", {}, bytes(used)), h("span", {}, t("admin.storageCount", { count: integer(count) }))),
      meter,
      h("p", { class: "quiet" }, limits(limit, days)),
      h("a", { class: "button", href: "/sessions", "data-i18n": "admin.openSessions" }),
    ];
    this.body.replaceChildren(...parts.filter(Boolean));
  }
}

/** Count, bytes and limits of an answer; null where there is no such limit. */
export function storageFigures({ count, bytes: used, limits: { max_storage_gb: gigabytes, retention_days: days } = {} }) {
  return { count, used, limit: gigabytes ? gigabytes * 1e9 : null, days: days ?? null };
}

function limits(limit, days) {
  const facts = [
    limit && t("admin.storageLimit", { size: bytes(limit) }),
    days && t("admin.storageDays", { time: duration(days * 86400) }),
  ].filter(Boolean);
  return facts.length ? facts.join(" · ") : t("admin.storageUnlimited");
}
