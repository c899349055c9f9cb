/** The head of a book: title, voice, what is made of it and how long the rest takes. */
import { byId, h, icon, setText } from "../shared/page/dom.js";
import { duration, integer } from "../i18n/format.js";
import { clearMessage } from "../i18n/i18n.js";
import { estimateSeconds } from "../studio/request/estimate.js";
import { counted } from "./manuscript/blocks.js";
import { VoiceMenu } from "./voices.js";
import { setMessage, t } from "./words.js";

export class Head {
  #book;
  #voice;
  #chapters = "";
  #speech = { blocks: null, seconds: 0 };

  constructor(manuscript, voices) {
    this.#book = manuscript;
    this.#voice = new VoiceMenu(voices, { id: "voice", "data-i18n-label": "book.voice" });
    byId("voice-place").append(this.#voice.element);
    byId("cast").prepend(icon("speaker"));
    for (const id of ["hear", "export", "make", "cast"]) byId(id).disabled = false;
  }

  /** How many blocks lack a take of what they say. */
  get missing() {
    return missingOf(counted(this.#book.blocks, this.#book.kept));
  }

  /** Whether something is being made. */
  get busy() {
    const { making, queued } = this.#book.book.progress;
    return making + queued > 0;
  }

  show() {
    const { blocks, kept, book } = this.#book;
    const title = byId("title");
    if (document.activeElement !== title) title.value = book.title;
    setText(byId("heading"), book.title);
    clearMessage(byId("heading"));
    document.title = `${book.title} · VoxFleet`;
    this.#voice.show(book.voice);
    const counts = counted(blocks, kept);
    this.#showFacts(blocks);
    this.#showProgress(counts, blocks.length, book.progress);
    this.#showChapters(blocks);
  }

  #showFacts(blocks) {
    if (this.#speech.blocks !== blocks) {
      const seconds = blocks.reduce((sum, { text, pause_ms: pause }) => sum + estimateSeconds(text) + pause / 1000, 0);
      this.#speech = { blocks, seconds };
    }
    const { seconds } = this.#speech;
    const text = () => `${t("book.blocks", { count: integer(blocks.length) })} · ${t("book.length", { time: duration(seconds < 60 ? seconds : 60 * Math.round(seconds / 60)) })}`;
    setMessage(byId("facts"), "text.plain", { text });
  }

  #showProgress(counts, count, { seconds_left: left }) {
    const [ready, missing] = [counts.ready + counts.silent, missingOf(counts)];
    byId("progress").max = Math.max(1, count);
    byId("progress").value = ready;
    byId("book").toggleAttribute("data-spoken", count > 0 && ready >= count && !this.busy);
    const done = () => count > 0 && (ready >= count ? t("book.allReady") : t("book.ready", { ready: integer(ready), count: integer(count) }));
    const words = () => [done(), this.busy && left !== null && t("book.left", { time: duration(Math.max(1, left)) }), counts.failed > 0 && t("book.wrong", { count: integer(counts.failed) })].filter(Boolean).join(" · ");
    setMessage(byId("progress-words"), "text.plain", { text: words });
    const make = byId("make");
    make.dataset.busy = String(this.busy);
    if (document.activeElement === make && !this.busy && missing === 0) byId("export").focus(); // what comes next
    make.disabled = !this.busy && missing === 0;
    const some = ready > counts.silent || counts.stale + counts.failed > 0;
    if (this.busy) setMessage(byId("make-words"), "book.stop");
    else setMessage(byId("make-words"), some && missing > 0 ? "book.makeMissing" : "book.make", { count: integer(missing) });
  }

  #showChapters(blocks) {
    const chapters = blocks.filter(({ kind }) => kind === "chapter");
    const state = JSON.stringify(chapters.map(({ key, text }) => [key, text]));
    if (state === this.#chapters) return;
    this.#chapters = state;
    byId("chapters-field").hidden = chapters.length < 2;
    byId("chapters").replaceChildren(h("option", { value: "", "data-i18n": "book.chapters" }), ...chapters.map(({ key, text }) => h("option", { value: key }, text)));
  }
}

function missingOf({ failed, stale, none }) {
  return failed + stale + none;
}
