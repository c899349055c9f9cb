/**
 * The OpenAPI document as the page shows it: groups of operations, the fields of their bodies, and their requests.
 */
import { finder } from "../shared/page/search.js";

/**
 * @typedef {object} Operation
 * @property {string} id @property {string} method "SOCKET" for a WebSocket @property {string} path
 * @property {string} summary @property {string} about @property {string} access key of "docs.access."
 * @property {object[]} parameters @property {{type: string, schema: object, example: any} | null} body
 * @property {{status: string, type: string | null, example: any} | null} answer
 * @property {any} error example of an error @property {{sends: object[], gets: object[], packed?: boolean} | null} socket
 */

/** @returns {{name: string, about: string, operations: Operation[]}[]} by tag, in the document's order */
export function groupsOf(document) {
  const groups = document.tags.map(({ name, description }) => ({ name, about: description, operations: [] }));
  const byName = new Map(groups.map((group) => [group.name, group]));
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, entry] of Object.entries(methods)) {
      byName.get(entry.tags[0]).operations.push(operationOf(path, method, entry));
    }
  }
  return groups;
}

function operationOf(path, method, entry) {
  const socket = entry["x-websocket"] ?? null;
  const [[status, response] = []] = Object.entries(entry.responses).filter(([code]) => code !== "default");
  const [[type, content] = [null, null]] = Object.entries(response?.content ?? {});
  const [[bodyType, body] = []] = Object.entries(entry.requestBody?.content ?? {});
  return {
    id: entry.operationId,
    method: socket ? "SOCKET" : method.toUpperCase(),
    path,
    summary: entry.summary,
    about: entry.description ?? "",
    access: accessOf(entry.security),
    parameters: entry.parameters,
    body: body ? { type: bodyType, schema: body.schema ?? {}, example: body.example ?? null } : null,
    answer: socket ? null : { status, type, example: content?.example },
    error: entry.responses.default?.content["application/json"].example ?? null,
    socket: socket,
  };
}

function accessOf(security) {
  if (security.length === 0) return "public";
  const [first] = Object.keys(security[0]);
  return first === "apiKey" && security.some((each) => Object.keys(each).length === 0) ? "optional" : first;
}

/** Whether a search finds an operation: each of its words, in any of these texts. */
export function finds(query, { method, path, summary, about }, group) {
  return finder(query)([method, path, summary, about, group].join(" "));
}

/**
 * The fields of a body's schema, references followed, those that are required first.
 * @returns {{name: string, kind: string, required: boolean, meaning: string, value: any}[]} value: the default
 */
export function fieldsOf(schema, schemas) {
  const whole = resolved(schema, schemas);
  const required = new Set(whole.required ?? []);
  const fields = Object.entries(whole.properties ?? {}).map(([name, field]) => ({
    name,
    kind: kindOf(field, schemas),
    required: required.has(name),
    meaning: field.description ?? "",
    value: field.default,
  }));
  return fields.sort((one, other) => Number(other.required) - Number(one.required));
}

/** "integer", "text | null", "wav | mp3", "object[]" */
export function kindOf(field, schemas) {
  const schema = resolved(field, schemas);
  if (schema.enum) return schema.enum.join(" | ");
  if (schema.const !== undefined) return String(schema.const);
  const some = schema.anyOf ?? schema.oneOf;
  if (some) return [...new Set(some.map((each) => kindOf(each, schemas)))].join(" | ");
  if (schema.format === "binary") return "file";
  if (schema.type === "array") return `${kindOf(schema.items ?? {}, schemas)}[]`;
  return [schema.type ?? "any"].flat().join(" | ") + bounds(schema);
}

function bounds({ minimum, maximum, exclusiveMinimum, maxLength }) {
  const least = minimum ?? (exclusiveMinimum !== undefined ? `> ${exclusiveMinimum}` : undefined);
  const most = maximum <= Number.MAX_SAFE_INTEGER ? maximum : undefined; // others cannot be told exactly
  if (least !== undefined || most !== undefined) return ` ${least ?? ""}…${most ?? ""}`;
  return maxLength === undefined ? "" : ` ≤ ${maxLength}`;
}

function resolved(schema, schemas) {
  return schema.$ref ? (schemas[schema.$ref.split("/").at(-1)] ?? {}) : schema;
}

/**
 * The example as a request.
 * @returns {{method: string, path: string, headers: Record<string, string>, json?: any, form?: Record<string, string>,
 *   file?: string, messages?: object[], packed?: boolean}} values that begin with @ are names of files
 */
export function requestOf(operation) {
  const query = new URLSearchParams();
  const headers = {};
  let path = operation.path;
  for (const { name, in: place, example } of operation.parameters) {
    if (example === undefined) continue;
    if (place === "path") path = path.replace(`{${name}}`, encodeURIComponent(example));
    else if (place === "query") query.set(name, example);
    else headers[name] = String(example);
  }
  const address = query.size ? `${path}?${query}` : path;
  const found = { method: operation.method, path: address, headers };
  if (operation.socket) return { ...found, messages: operation.socket.sends, packed: operation.socket.packed };
  const { type, example } = operation.body ?? {};
  if (example === null || example === undefined) return found;
  if (type === "application/json") return { ...found, json: example };
  if (type === "multipart/form-data") return { ...found, form: example };
  return { ...found, file: example, headers: { ...headers, "content-type": type } };
}
