/**
 * One operation: closed its method, path and summary; open what it takes, an example, and what is answered.
 */
import { h, icon } from "../shared/page/dom.js";
import { apiKey } from "../shared/service/fleet.js";
import { codeOf } from "./code.js";
import { codeTabs } from "./code-tabs.js";
import { fieldsOf, kindOf, requestOf } from "./description.js";
import { canTry, tryPanel } from "./try-panel.js";
import { setLabel, setMessage } from "./words.js";

/** @param {import("./description.js").Operation} operation @param {Record<string, object>} schemas */
export function operationView(operation, schemas) {
  const body = h("div", { class: "op-body" });
  const head = h(
    "summary",
    { class: "op-head" },
    h("span", { class: "op-method", "data-method": operation.method }, operation.method === "SOCKET" ? "WS" : operation.method),
    h("code", { class: "op-path" }, ...breakable(operation.path)),
    h("span", { class: "op-summary" }, operation.summary),
  );
  const view = h("details", { class: "op", id: operation.id }, head, body);
  view.addEventListener("toggle", () => view.open && !body.firstChild && body.append(...contentsOf(operation, schemas)));
  return view;
}

/** A path that may break before each slash. */
function breakable(path) {
  return path.split(/(?=\/)/).flatMap((part) => [h("wbr"), part]);
}

/** Text in which `this` is code. @param {string} text */
export function withCode(text) {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}

function contentsOf(operation, schemas) {
  const request = requestOf(operation);
  const anchor = setLabel(h("a", { class: "op-link", href: `#${operation.id}` }, icon("link")), "docs.link", { name: operation.summary });
  const facts = h("p", { class: "op-facts" }, h("span", { "data-i18n": `docs.access.${operation.access}` }), anchor);
  return [
    facts,
    operation.about ? h("p", { class: "op-about", lang: "en" }, withCode(operation.about)) : null,
    h("h3", { "data-i18n": "docs.example" }),
    codeTabs(codeOf(operation, request, { origin: location.origin, keyed: Boolean(apiKey()) })),
    ...answerOf(operation),
    canTry(operation, request) ? tryPanel(operation, request) : null,
    ...parametersOf(operation, schemas),
    ...bodyOf(operation, schemas),
    ...errorOf(operation),
  ].filter(Boolean);
}

function parametersOf({ parameters }, schemas) {
  if (!parameters.length) return [];
  const rows = parameters.map(({ name, in: place, required, schema = {}, description }) => ({
    name,
    place,
    required,
    kind: kindOf(schema, schemas),
    meaning: description ?? schema.description ?? "",
    value: schema.default,
  }));
  return [h("h3", { "data-i18n": "docs.parameters" }), fieldTable(rows)];
}

function bodyOf({ body }, schemas) {
  const fields = body ? fieldsOf(body.schema, schemas) : [];
  return fields.length ? [h("h3", {}, h("span", { "data-i18n": "docs.body" }), ` ${body.type}`), fieldTable(fields)] : [];
}

function fieldTable(rows) {
  return h("dl", { class: "fields" }, rows.flatMap(fieldRow));
}

function fieldRow({ name, place, required, kind, meaning, value }) {
  const plain = value !== undefined && value !== null && typeof value !== "object" && value !== "";
  const notes = [
    h("span", { class: "field-kind", lang: "en" }, kind),
    place ? h("span", { "data-i18n": `docs.in.${place}` }) : null,
    required ? h("span", { class: "field-required", "data-i18n": "docs.required" }) : null,
    plain ? setMessage(h("span"), "docs.default", { value: String(value) }) : null,
  ];
  const told = h("p", { class: "field-notes" }, notes);
  return [h("dt", {}, h("code", {}, name)), h("dd", {}, told, meaning ? h("p", { lang: "en" }, withCode(meaning)) : null)];
}

function answerOf({ answer, socket }) {
  if (socket) {
    const told = socket.gets.map((message) => JSON.stringify(message)).join("\n");
    return [h("h3", { "data-i18n": "docs.answer.messages" }), codeTabs({ JSON: told })];
  }
  const title = h("h3", {}, h("span", { "data-i18n": "docs.answer" }), ` ${answer.status}`);
  if (answer.example !== undefined) return [title, codeTabs({ JSON: JSON.stringify(answer.example, null, 2) })];
  const key = !answer.type ? "docs.answer.empty" : /^(audio|application\/zip)/.test(answer.type) ? "docs.answer.file" : "docs.answer.text";
  return [title, setMessage(h("p", { class: "quiet" }), key, { type: answer.type, status: answer.status })];
}

function errorOf({ error }) {
  if (!error) return [];
  const code = codeTabs({ JSON: JSON.stringify(error, null, 2) });
  return [h("details", { class: "drawer op-error" }, h("summary", {}, h("span", { "data-i18n": "docs.errors" })), code)];
}
