/**
 * The page of the API: /docs shows what /openapi.json says, /docs/{client} how one program uses the service.
 *
 * The description is for who may see it; it is not asked for where that is nobody here.
 */
import { adminToken } from "../admin/access.js";
import { request } from "../shared/service/api.js";
import { byId, h } from "../shared/page/dom.js";
import { FleetStatus } from "../shared/service/fleet-status.js";
import { apiKey, pageConfig } from "../shared/service/fleet.js";
import { openKeySheet } from "../shared/service/key-sheet.js";
import { mountNav } from "../shared/page/nav.js";
import { SNIPPETS } from "../studio/snippets.js";
import { clientLinks, clientOf, clientView } from "./clients.js";
import { codeTabs } from "./code-tabs.js";
import { finds, groupsOf } from "./description.js";
import { operationView, withCode } from "./operation-view.js";
import { setMessage } from "./words.js";

class Docs {
  #content = byId("content");
  #side = byId("side");
  #search = byId("search");
  #found = h("p", { class: "quiet docs-found", role: "status" });
  #groups = [];

  async open() {
    const client = clientOf(location.pathname);
    new FleetStatus(mountNav(byId("nav")), () => client || this.#groups.length > 0 || this.#load()).start();
    this.#search.addEventListener("input", () => this.#show());
    window.addEventListener("apikey", () => client || this.#load());
    window.addEventListener("hashchange", () => this.#reveal());
    this.#searchable = !client && headersOfReader() !== null; // others mostly see no routes: nothing moves for them
    if (client) {
      this.#fill(clientView(client));
      this.#side.append(h("a", { href: "/docs", "data-i18n": "docs.back" }), clientLinks(client));
    } else {
      const links = clientLinks();
      links.style.visibility = "hidden"; // their place is kept, but links to routes may come above them
      this.#side.append(links);
      await this.#load();
    }
  }

  /** @param {boolean} there whether there are routes to search */
  set #searchable(there) {
    this.#search.closest("label").hidden = !there;
  }

  #fill(...children) {
    this.#content.replaceChildren(...children);
    this.#content.removeAttribute("aria-busy");
  }

  async #load() {
    try {
      const config = await pageConfig();
      const headers = headersOfReader();
      if (!config.api_is_public && !headers) return this.#showLocked();
      const document = await (await request("/openapi.json", { headers: headers ?? {} })).json();
      this.#showAll(document);
    } catch (error) {
      if (error.status === 404) this.#showLocked();
      else this.#showProblem();
    }
  }

  #showAll(document) {
    this.#searchable = true;
    const { schemas } = document.components;
    this.#groups = groupsOf(document).map((group) => {
      const views = group.operations.map((operation) => ({ operation, view: operationView(operation, schemas) }));
      const id = `tag-${group.name.toLowerCase()}`;
      const section = h(
        "section",
        { class: "docs-group", "aria-labelledby": id },
        h("h2", { id, lang: "en" }, group.name),
        h("p", { class: "quiet", lang: "en" }, withCode(group.about)),
        h("div", { class: "ops", lang: "en" }, views.map(({ view }) => view)),
      );
      return { group, views, section, link: h("a", { href: `#${id}`, lang: "en" }, group.name) };
    });
    this.#side.replaceChildren(...this.#groups.map(({ link }) => link), clientLinks());
    this.#fill(this.#found, ...this.#groups.map(({ section }) => section));
    this.#show();
    this.#reveal();
  }

  #showLocked() {
    this.#searchable = false;
    this.#side.replaceChildren(clientLinks());
    this.#fill(
      note("docs.first", codeTabs(firstRequest())),
      note("docs.locked", h("button", { class: "button", type: "button", "data-i18n": "docs.locked.key", onclick: () => openKeySheet() })),
    );
  }

  #showProblem() {
    this.#side.replaceChildren(clientLinks());
    const again = h("button", { class: "button", type: "button", "data-i18n": "docs.again", onclick: () => this.#load() });
    this.#fill(h("div", { class: "notice notice-danger", role: "alert" }, h("p", { "data-i18n": "docs.failed" }), again));
  }

  /** What the search finds. */
  #show() {
    const query = this.#search.value.trim();
    let count = 0;
    for (const { group, views, section, link } of this.#groups) {
      let here = 0;
      for (const { operation, view } of views) {
        view.hidden = !finds(query, operation, group.name);
        here += Number(!view.hidden);
      }
      section.hidden = link.hidden = here === 0;
      count += here;
    }
    setMessage(this.#found, count ? "docs.found" : "docs.none", { count });
  }

  /** Opens the operation that the address names. */
  #reveal() {
    const view = location.hash && document.getElementById(location.hash.slice(1));
    if (!view || !this.#content.contains(view)) return;
    if (view.matches("details")) view.open = true;
    view.scrollIntoView();
  }
}

/** @param {string} key of the message; that of its title ends with ".title" */
function note(key, content) {
  return h("section", { class: "docs-note" }, h("h2", { "data-i18n": `${key}.title` }), h("p", { "data-i18n": key }), content);
}

/** What whoever may see no route can do all the same, by language. */
function firstRequest() {
  const order = { text: "Hello.", voice: "default", format: "wav" };
  return Object.fromEntries(Object.entries(SNIPPETS).map(([name, code]) => [name, code(location.origin, order)]));
}

/** What shows who the reader is; null for nobody known. */
function headersOfReader() {
  if (apiKey()) return { authorization: `Bearer ${apiKey()}` };
  return adminToken() ? { "x-admin-token": adminToken() } : null;
}

new Docs().open();
