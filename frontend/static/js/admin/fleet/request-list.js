/**
 * Who waits, or who runs: the rows, and the tools that choose and end several at once.
 */
import { confirmed } from "../../shared/page/confirm.js";
import { byId, h, setText } from "../../shared/page/dom.js";
import { integer } from "../../i18n/format.js";
import { Choice } from "./choice.js";
import { KeyedList } from "./keyed-list.js";
import { protocolName, requestName, RequestRow, tenantName } from "./request-row.js";
import { nameOfVoice } from "../../voices/voice-names.js";
import { t } from "../words.js";

const MAX_ROWS = 50;
/** That one call ends. */
const MOST_AT_ONCE = 1000;
const READ = { tenant: tenantName, protocol: protocolName, voice: nameOfVoice };

export class RequestList {
  #id;
  #command;
  #requests = [];
  #choice = new Choice();
  #rows = new Map();
  #list;
  #kinds = h("select", { "data-i18n-label": "admin.chooseKind", onchange: () => this.#addKind() });
  #end = h("button", { class: "button button-danger", type: "button", hidden: true, onclick: () => this.#endChosen() });
  #none = h("button", { class: "button button-quiet", type: "button", hidden: true, "data-i18n": "admin.chooseNone", onclick: () => this.#clear() });

  /**
   * @param {"queue" | "running"} id of the list
   * @param {(method: string, path: string, said: string, json?: object) => Promise<void>} command sends, and says it when it went well
   */
  constructor(id, command) {
    this.#id = id;
    this.#command = command;
    const keyOf = ({ ticket_id: ticket, request_id: request }) => ticket ?? request;
    this.#list = new KeyedList(byId(id), keyOf, (request) => this.#row(keyOf(request)));
    byId(`${id}-tools`).append(this.#none, this.#end, this.#kinds);
    window.addEventListener("languageset", () => this.#draw(true));
  }

  /** @param {object[]} requests as in GET /api/queue @param {number} total of which they are the first */
  show(requests, total = requests.length) {
    this.#requests = requests;
    this.#choice.list(requests);
    this.#list.show(requests.slice(0, MAX_ROWS));
    byId(`${this.#id}-empty`).hidden = requests.length > 0;
    const more = byId(`${this.#id}-more`);
    more.hidden = total <= MAX_ROWS;
    setText(more, t("admin.more", { count: integer(total - MAX_ROWS) }));
    this.#draw();
  }

  get #running() {
    return this.#id === "running";
  }

  #row(key) {
    const choose = (ticket, chosen) => {
      this.#choice.set(ticket, chosen);
      this.#draw();
    };
    const row = new RequestRow((request) => this.#endOne(request), choose);
    this.#rows.set(key, row);
    return row;
  }

  #draw(anew = false) {
    const listed = new Set(this.#requests.map(({ ticket_id: ticket, request_id: request }) => ticket ?? request));
    for (const [key, row] of this.#rows) {
      if (listed.has(key)) row.chosen = this.#choice.has(key);
      else this.#rows.delete(key);
    }
    const { size } = this.#choice;
    this.#end.hidden = this.#none.hidden = size === 0;
    setText(this.#end, t(this.#running ? "admin.stopSeveral" : "admin.cancelSeveral", { count: integer(size) }));
    this.#drawKinds(anew);
  }

  /** Options are left in peace while somebody has them open. */
  #drawKinds(anew) {
    const { kinds } = this.#choice;
    this.#kinds.hidden = kinds.length === 0;
    if (!anew && document.activeElement === this.#kinds) return;
    const options = kinds.map(({ kind, value, count }) => {
      const words = t(`admin.choose.${kind}`, { value: READ[kind]?.(value) ?? "", count: integer(count) });
      return h("option", { value: JSON.stringify([kind, value]) }, words);
    });
    const shown = options.map((option) => option.textContent).join("\n");
    if (this.#kinds.dataset.shown === shown && !anew) return;
    this.#kinds.dataset.shown = shown;
    this.#kinds.replaceChildren(h("option", { value: "" }, t("admin.chooseKind")), ...options);
  }

  #addKind() {
    if (this.#kinds.value) this.#choice.add(...JSON.parse(this.#kinds.value));
    this.#kinds.value = "";
    this.#draw();
  }

  #clear() {
    this.#choice.clear();
    this.#draw();
    this.#kinds.focus();
  }

  async #endOne(request) {
    const name = requestName(request);
    const sure = {
      title: t(this.#running ? "admin.stopAsk" : "admin.cancelAsk"),
      text: t(this.#running ? "admin.stopText" : "admin.cancelText", { request: name }),
      verb: t(this.#running ? "admin.stop" : "admin.cancelVerb"),
      keep: t(this.#running ? "admin.letSpeak" : "admin.letWait"),
    };
    if (!(await confirmed(sure))) return;
    await this.#command("DELETE", `/api/queue/${encodeURIComponent(request.ticket_id)}`, t("admin.said.ended", { request: name }));
  }

  async #endChosen() {
    const tickets = this.#choice.tickets.slice(0, MOST_AT_ONCE);
    const count = tickets.length;
    const sure = {
      title: t(this.#running ? "admin.stopSeveralAsk" : "admin.cancelSeveralAsk", { count }),
      text: t(this.#running ? "admin.stopSeveralText" : "admin.cancelSeveralText"),
      verb: t(this.#running ? "admin.stopThem" : "admin.cancelThem"),
      keep: t(this.#running ? "admin.letSpeakAll" : "admin.letWaitAll"),
    };
    if (!(await confirmed(sure))) return;
    await this.#command("POST", "/api/queue/cancel", t("admin.said.endedSeveral", { count }), { tickets });
    this.#choice.clear();
    this.#draw();
  }
}
