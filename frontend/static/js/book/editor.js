/**
 * The page of one book: what is read from the address, and which part of the page does what.
 */
import { byId, h, icon } from "../shared/page/dom.js";
import { FleetStatus } from "../shared/service/fleet-status.js";
import { fleet } from "../shared/service/fleet.js";
import { mountNav } from "../shared/page/nav.js";
import { save } from "../shared/files/save.js";
import { BlockList } from "./blocks/block-list.js";
import { BlockTools } from "./blocks/block-tools.js";
import { BulkBar } from "./blocks/bulk-bar.js";
import { Changes } from "./changes.js";
import { draft, indexOf } from "./manuscript/blocks.js";
import { Head } from "./head.js";
import { Manuscript } from "./manuscript/manuscript.js";
import { Notice } from "./notice.js";
import { Reader } from "./reading/reader.js";
import { ReaderBar } from "./reading/reader-bar.js";
import { askFile } from "./sheets.js";
import { Voices } from "./voices.js";
import { takeWarnings } from "./warnings.js";
import { setMessage } from "./words.js";

const REFRESH_MS = 1500;
/** Long books are asked for less often: each of their blocks is counted then. */
const REFRESH_MS_PER_BLOCK = 0.2;

class Editor {
  #id = decodeURIComponent(location.pathname.split("/")[2]);
  #voices = new Voices();
  #refresh = null;
  #turn = 0;
  #bulk = new BulkBar(byId("bulk"), {
    voice: () => this.changes.give(),
    make: () => this.#make([...this.list.selected]),
    remove: () => this.changes.remove(this.list.selected),
    clear: () => this.#clear(),
  });
  #notice = new Notice(byId("problem"), () => this.#do(() => this.book.save()));

  async open() {
    const goOn = () => (this.book ? this.#flush() : this.#load());
    new FleetStatus(mountNav(byId("nav")), goOn).start();
    window.addEventListener("apikey", goOn);
    await this.#load();
  }

  async #load() {
    const turn = (this.#turn += 1);
    try {
      const [book, voices] = await Promise.all([fleet.books.get(this.#id), fleet.voices()]);
      if (turn !== this.#turn) return; // there is one manuscript
      this.#voices.show(voices);
      this.#begin(book);
    } catch (error) {
      if (turn !== this.#turn) return;
      byId("head").hidden = true; // there is no book whose state it could tell
      this.#fail(error, () => this.#load());
    }
    byId("book").removeAttribute("aria-busy");
  }

  #begin(book) {
    byId("head").hidden = false;
    this.book = new Manuscript(fleet.books, book);
    this.head = new Head(this.book, this.#voices);
    this.list = new BlockList(byId("blocks"), this.book, this.#voices);
    this.changes = new Changes(this.book, this.list, this.#voices);
    this.tools = new BlockTools(this.book, this.#voices);
    this.reader = new Reader(this.book, fleet.books);
    new ReaderBar(byId("reader"), this.book, fleet.books, this.reader, (key) => this.list.focus(new Set([key])));
    this.#listen();
    this.#draw();
    this.#warn();
    this.#follow();
  }

  #listen() {
    const { book, list, reader } = this;
    book.addEventListener("blocks", () => this.#draw());
    book.addEventListener("typed", ({ detail }) => this.#showTyped(detail));
    book.addEventListener("kept", ({ detail }) => this.#showKept(detail));
    book.addEventListener("saving", ({ detail }) => this.#showSaving(detail));
    book.addEventListener("problem", ({ detail }) => this.#notice.showUnsaved(detail));
    for (const part of [list, this.tools]) part.addEventListener("do", ({ detail }) => this.#act(detail));
    list.addEventListener("open", ({ detail }) => this.#openTools(detail));
    list.addEventListener("selection", () => this.#showBulk());
    reader.addEventListener("move", ({ detail }) => list.light(detail.key, { follow: detail.playing }));
    reader.addEventListener("move", ({ detail }) => detail.playing && this.#voices.hush());
    document.addEventListener("click", ({ target }) => target.closest?.(".voice-preview") && reader.pause());
    reader.addEventListener("problem", ({ detail }) => this.#fail(detail));
    byId("title").addEventListener("change", ({ target }) => this.#name(target));
    byId("voice").addEventListener("change", ({ target }) => this.#do(() => book.update({ voice: target.value })));
    byId("make").addEventListener("click", () => (this.head.busy ? this.#do(() => book.act((books, id) => books.stop(id))) : this.#make()));
    byId("hear").addEventListener("click", () => this.#hear(list.open ?? book.blocks[0]?.key));
    byId("append").addEventListener("click", () => list.addAfter(book.blocks.at(-1)?.key, draft({})));
    byId("append").hidden = false;
    byId("export").addEventListener("click", () => this.#export());
    byId("cast").addEventListener("click", () => this.changes.cast());
    byId("chapters").addEventListener("change", ({ target }) => this.#goTo(target));
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#flush() : this.#update()));
    window.addEventListener("beforeunload", (event) => book.clean || event.preventDefault());
  }

  // -------------------------------------------------------------------------------------------------- showing

  #draw() {
    byId("undo").hidden = true; // what it offered was the change before this one
    this.list.draw();
    this.head.show();
    this.#showTools(this.list.open);
    this.#showBulk();
  }

  /** @param {Set<string> | null} ids of the blocks that may be others now; null: all of them */
  #showKept(ids) {
    this.list.update(ids ? ({ id }) => ids.has(id) : undefined);
    this.head.show();
    this.#showTools(this.list.open);
  }

  #showTyped(key) {
    this.head.show();
    this.list.update((block) => block.key === key);
  }

  #openTools(key) {
    this.#showTools(key);
    this.list.view(key)?.element.scrollIntoView({ block: "nearest" });
  }

  #showTools(key) {
    const view = this.list.view(key);
    if (!view) {
      this.tools.element.remove();
      return;
    }
    this.tools.show(key);
    if (this.tools.element.parentElement !== view.element) view.element.append(this.tools.element);
  }

  #showBulk() {
    this.#bulk.show(this.list.selected.size);
  }

  /** What the document had that could not be read. */
  #warn() {
    const words = takeWarnings(this.#id);
    byId("warnings").hidden = !words;
    if (words) byId("warnings").replaceChildren(icon("warning"), h("p", {}, words));
  }

  /** It is not read out: there is news of it with every pause in typing. The notice tells what cannot be saved. */
  #showSaving(state) {
    byId("saving").setAttribute("aria-live", "off");
    setMessage(byId("saving"), `book.${state}`);
    if (state === "saved") this.#notice.settleSaved();
  }

  #say(key, values) {
    byId("saving").setAttribute("aria-live", "polite");
    setMessage(byId("saving"), key, values);
  }

  #fail(error, again = () => this.#update()) {
    this.#notice.show(error, again);
  }

  // --------------------------------------------------------------------------------------------------- asking

  async #do(work) {
    try {
      await work();
      this.#notice.settle();
    } catch (error) {
      this.#fail(error, () => this.#do(work));
    }
    this.#follow();
  }

  /** Asks how far it is, again and again while something is made. */
  #follow() {
    clearTimeout(this.#refresh);
    if (!this.head.busy || document.hidden) return;
    this.#refresh = setTimeout(() => this.#update(), REFRESH_MS + REFRESH_MS_PER_BLOCK * this.book.blocks.length);
  }

  #update() {
    return this.#do(() => this.book.refresh());
  }

  #flush() {
    if (!this.book.clean) this.book.save().catch(() => null); // the event "problem" tells it
  }

  #make(keys) {
    const chosen = keys && new Set(keys);
    return this.#do(() =>
      this.book.act((books, id) => {
        const ids = chosen && this.book.blocks.filter(({ key, id: kept }) => chosen.has(key) && kept).map(({ id: kept }) => kept);
        return books.make(id, ids);
      }),
    );
  }

  /** From a block on. What is not made yet is made first: the reader waits for it. */
  async #hear(key) {
    if (!this.reader.reaches(key)) await this.#make();
    this.reader.play(key);
  }

  #clear() {
    const keys = this.list.selected;
    this.list.clearSelection();
    this.list.focus(keys);
  }

  #idOf(key) {
    return this.book.blocks[indexOf(this.book.blocks, key)].id;
  }

  /** What a button of a block asks for. */
  #act({ action, key, take }) {
    const { book, list, reader } = this;
    const actions = {
      play: () => (reader.key === key && reader.playing ? reader.pause() : reader.play(key, { single: true })),
      from: () => this.#hear(key),
      take: () => reader.play(key, { single: true, take }),
      make: () => this.#make([key]),
      again: () => this.#do(() => book.act((books, id) => books.addTake(id, this.#idOf(key)))),
      choose: () => this.#do(() => book.act((books, id) => books.chooseTake(id, this.#idOf(key), take))),
      drop: () => this.#do(() => book.act((books, id) => books.deleteTake(id, this.#idOf(key), take))),
      up: () => list.step(key, -1),
      down: () => list.step(key, 1),
      split: () => this.#split(key),
      join: () => list.joinAt(indexOf(book.blocks, key)),
      add: () => list.addAfter(key, draft({})),
      remove: () => this.changes.remove(new Set([key])),
    };
    actions[action]();
  }

  /** Where the caret was last; else behind the first sentence. */
  #split(key) {
    const { text } = this.book.blocks[indexOf(this.book.blocks, key)];
    const sentence = text.search(/[.!?。！？]["”」]?\s?/u) + 1;
    const caret = this.list.caret?.key === key ? this.list.caret.at : null;
    this.list.splitAt(key, caret ?? (sentence || Math.floor(text.length / 2)));
  }

  // -------------------------------------------------------------------------------------------------- changing

  #name(field) {
    const title = field.value.trim();
    if (title) this.#do(() => this.book.update({ title }));
    else field.value = this.book.book.title; // a book has one
  }

  #goTo(select) {
    this.list.view(select.value)?.element.scrollIntoView({ block: "start" });
    select.value = "";
  }

  async #export() {
    await this.#do(() => this.book.save());
    const format = await askFile(this.head.missing);
    if (format === "make") this.#make();
    else if (format) {
      await this.#do(async () => {
        let key = this.book.clean ? "book.saved" : "book.unsaved";
        this.#say("export.packing");
        try {
          save(await fleet.books.export(this.#id, format), `${this.book.book.title}.${format}`);
          key = "export.done";
        } finally {
          this.#say(key);
        }
      });
    }
  }
}

new Editor().open();
