/**
 * The shelf: one's books, and a new one of a file or of a pasted text.
 */
import { confirmed } from "../shared/page/confirm.js";
import { byId, h, icon } from "../shared/page/dom.js";
import { keepFocus } from "../shared/page/focus.js";
import { takeDrops } from "../shared/files/file-drops.js";
import { FleetStatus } from "../shared/service/fleet-status.js";
import { fleet } from "../shared/service/fleet.js";
import { Polling } from "../shared/service/polling.js";
import { duration, integer } from "../i18n/format.js";
import { mountNav } from "../shared/page/nav.js";
import { showFailure, showProblem } from "../shared/notices/problem-notice.js";
import { needsKey } from "../shared/notices/problems.js";
import { clearMessage } from "../i18n/i18n.js";
import { setLabel, setMessage, t } from "./words.js";
import { bookRequest, pastedFile } from "./new-book.js";
import { keepWarnings } from "./warnings.js";

const REFRESH_MS = 3000;
/** Without a database, or from a gateway that has no books. */
const ABSENT = new Set(["books_unavailable", "database_unavailable", "not_found", "method_not_allowed"]);

class Shelf {
  #list = byId("list");
  #polling = new Polling({
    ask: () => fleet.books.list(),
    show: (books) => this.#show(books),
    fail: (error, again) => this.#fail(error, again),
    notice: byId("problem"),
    milliseconds: REFRESH_MS,
  });
  #beginning = false;

  async open() {
    new FleetStatus(mountNav(byId("nav")), () => this.#load()).start();
    byId("file").addEventListener("change", ({ target }) => this.#chosen(target));
    byId("paste").addEventListener("submit", (event) => this.#pasted(event));
    takeDrops(byId("drop"), ([file]) => this.#begin(file));
    window.addEventListener("apikey", () => this.#load());
    window.addEventListener("pageshow", ({ persisted }) => persisted && this.#busy(false)); // back from the book
    window.addEventListener("beforeunload", (event) => byId("text").value.trim() && !this.#beginning && event.preventDefault());
    document.addEventListener("visibilitychange", () => document.hidden || this.#load());
    await this.#load();
  }

  async #load() {
    await this.#polling.load();
    this.#list.removeAttribute("aria-busy");
  }

  /** @returns {boolean} whether something is made of one */
  #show(books) {
    keepFocus(this.#list, "data-book", () => this.#list.replaceChildren(...books.map((book) => this.#row(book))), byId("file"));
    byId("none").hidden = books.length > 0;
    byId("unavailable").hidden = true;
    return books.some(({ progress }) => progress.making + progress.queued > 0);
  }

  #row(book) {
    const { id, title, progress } = book;
    const remove = h("button", { class: "button-icon", type: "button", onclick: () => this.#remove(book) }, icon("trash"));
    setLabel(remove, "book.removeNamed", { title });
    const open = progress.making + progress.queued > 0;
    return h(
      "li",
      { class: "session-row", "data-book": id },
      h(
        "a",
        { class: "session-link book-link", href: `/book/${encodeURIComponent(id)}` },
        h("span", { class: "session-title-text", dir: "auto" }, title),
        setMessage(h("span", { class: "session-facts-text" }), "text.plain", { text: () => factsOf(progress) }),
        open ? setLabel(h("progress", { max: Math.max(1, progress.blocks), value: progress.ready }), "book.progress") : h("span"),
      ),
      remove,
    );
  }

  #chosen(field) {
    const [file] = field.files;
    field.value = "";
    if (file) this.#begin(file);
  }

  #pasted(event) {
    event.preventDefault();
    const text = byId("text").value;
    if (text.trim()) this.#begin(pastedFile(text), () => (byId("text").value = ""));
    else byId("text").focus();
  }

  /** One book at a time, until its page is there. */
  #busy(busy) {
    this.#beginning = byId("begin").disabled = byId("file").disabled = busy;
  }

  /** @param {File} file @param {() => void} made called once its book is there */
  async #begin(file, made = () => null) {
    if (this.#beginning) return;
    byId("problem").hidden = true;
    this.#busy(true);
    setMessage(byId("said"), "book.reading", { name: file.name });
    try {
      const read = await fleet.books.readDocument(file);
      const wanted = bookRequest(read, file.name, t("book.untitled"));
      if (wanted.blocks.length === 0) {
        setMessage(byId("said"), "book.empty");
        this.#busy(false);
        return;
      }
      const book = await fleet.books.create(wanted);
      made();
      keepWarnings(book.id, read.warnings);
      location.assign(`/book/${encodeURIComponent(book.id)}`);
    } catch (error) {
      clearMessage(byId("said"));
      byId("said").textContent = "";
      this.#busy(false);
      this.#fail(error, () => this.#begin(file, made), showFailure);
    }
  }

  async #remove(book) {
    const { title } = book;
    if (!(await confirmed({ title: t("book.removeAsk"), text: title, verb: t("book.remove") }))) return;
    try {
      await fleet.books.delete(book.id);
      setMessage(byId("said"), "book.removed", { title });
    } catch (error) {
      if (error.code === "unknown_book") await this.#load(); // it is not shown any more either
      this.#fail(error, () => this.#load(), showFailure);
      return;
    }
    await this.#load();
  }

  #fail(error, again, show = showProblem) {
    if (needsKey(error)) this.#list.replaceChildren();
    if (ABSENT.has(error.code)) byId("unavailable").hidden = false;
    else show(byId("problem"), error, { again });
  }
}

function factsOf({ blocks, ready, seconds_left: left }) {
  const done = blocks > 0 && (ready >= blocks ? t("book.allReady") : t("book.ready", { ready: integer(ready), count: integer(blocks) }));
  return [t("book.blocks", { count: integer(blocks) }), done, left !== null && t("book.left", { time: duration(Math.max(1, left)) })].filter(Boolean).join(" · ");
}

new Shelf().open();
