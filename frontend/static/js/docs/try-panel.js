/**
 * "Run it here": sends the example as it stands, with what the reader changed of its body, and shows what is answered.
 */
import { adminToken } from "../admin/access.js";
import { h } from "../shared/page/dom.js";
import { problemText } from "../shared/notices/problems.js";
import { apiKey } from "../shared/service/fleet.js";
import { setLabel, setMessage } from "./words.js";

const LONGEST_TEXT = 20_000;

/** Whether an example needs nothing that was made before, and takes and changes little. */
export function canTry({ method, path, access }, { form, file, messages }) {
  const alone = !path.includes("{") && !form && !file && !messages && path !== "/" && path !== "/api/events";
  return alone && (method === "GET" || (method === "POST" && ["optional", "apiKey"].includes(access)));
}

/** @param {import("./description.js").Operation} operation @param {object} request of requestOf() */
export function tryPanel({ summary, access }, request) {
  const text = request.json === undefined ? null : JSON.stringify(request.json, null, 2);
  const input = text && h("textarea", { class: "input listing try-body", rows: text.split("\n").length, spellcheck: "false", "data-i18n-label": "docs.body" });
  if (input) input.value = text;
  const said = h("p", { class: "quiet", role: "status" });
  const result = h("div", { class: "try-result" });
  const button = setLabel(h("button", { class: "button", type: "button", "data-i18n": "docs.try" }), "docs.try.label", { name: summary });
  button.addEventListener("click", async () => {
    button.disabled = true;
    setMessage(said, "docs.try.running");
    try {
      const started = performance.now();
      const answer = await fetch(request.path, { method: request.method, headers: headersOf(request, access), body: input?.value });
      result.replaceChildren(await shown(answer));
      setMessage(said, "docs.try.status", { status: answer.status, seconds: ((performance.now() - started) / 1000).toFixed(2) });
    } catch (error) {
      result.replaceChildren();
      setMessage(said, "text.plain", { text: () => problemText({ code: "no_answer", message: error.message }) });
      if (!(error instanceof TypeError)) throw error; // a network that is down
    } finally {
      button.disabled = false;
    }
  });
  return h("div", { class: "try" }, input, h("div", { class: "try-foot" }, button, said), result);
}

function headersOf({ headers, json }, access) {
  const found = { ...headers };
  if (json !== undefined) found["content-type"] = "application/json";
  if (apiKey()) found.authorization = `Bearer ${apiKey()}`;
  else if (access === "adminToken" && adminToken()) found["x-admin-token"] = adminToken();
  return found;
}

async function shown(answer) {
  const type = answer.headers.get("content-type") ?? "";
  if (type.startsWith("audio/")) {
    return h("audio", { controls: true, src: URL.createObjectURL(await answer.blob()) });
  }
  const text = await answer.text();
  const told = type.includes("json") && !type.includes("ndjson") ? JSON.stringify(JSON.parse(text), null, 2) : text;
  return h("pre", { class: "listing", tabindex: "0", role: "group", "data-i18n-label": "docs.answer" }, told.slice(0, LONGEST_TEXT));
}
