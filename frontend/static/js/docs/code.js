/**
 * A request as code that can be pasted and run: curl, Python (httpx, websockets) and JavaScript (Node).
 *
 *   curl --fail-with-body 'http://localhost:8006/api/jobs' \
 *     -H 'content-type: application/json' \
 *     -d '{"text":"Hello."}'
 */
import { shellQuote } from "../studio/snippets.js";

const ENDINGS = { "audio/wav": "wav", "audio/mpeg": "mp3", "application/zip": "zip", "text/vtt": "vtt", "application/x-subrip": "srt" };
const SECRETS = {
  apiKey: ["authorization", "Bearer ", "VOXFLEET_API_KEY"],
  adminToken: ["x-admin-token", "", "VOXFLEET_ADMIN_TOKEN"],
  metricsToken: ["authorization", "Bearer ", "VOXFLEET_METRICS_TOKEN"],
  workerSecret: ["authorization", "Bearer ", "VOXFLEET_WORKER_SECRET"],
};

/** @typedef {import("./description.js").Operation} Operation */

/**
 * @param {Operation} operation @param {object} request of requestOf() @param {{origin: string, keyed?: boolean}} where
 *   keyed: show an API key where one is not always asked for
 * @returns {Record<string, string>} code by the name of its language
 */
export function codeOf(operation, request, { origin, keyed = false }) {
  const name = operation.access === "optional" ? (keyed ? "apiKey" : null) : operation.access;
  const given = { origin, request, secret: SECRETS[name] ?? null, file: fileOf(operation) };
  if (request.messages) return { Python: pythonSocket(given), JavaScript: javascriptSocket(given) };
  return { curl: curl(given), Python: python(given), JavaScript: javascript(given) };
}

/** What the answer is written into; null for one that is read. */
function fileOf({ answer }) {
  const ending = ENDINGS[answer?.type];
  return ending ? `answer.${ending}` : null;
}

function curl({ origin, request, secret, file }) {
  const { method, path, headers, json, form, file: upload } = request;
  const implied = json !== undefined || form || upload ? "POST" : "GET";
  const lines = [`curl --fail-with-body${method === implied ? "" : ` -X ${method}`} ${shellQuote(origin + path)}`];
  if (secret) lines.push(`  -H "${secret[0]}: ${secret[1]}$${secret[2]}"`);
  for (const [name, value] of Object.entries(headers)) lines.push(`  -H ${shellQuote(`${name}: ${value}`)}`);
  if (json !== undefined) {
    lines.push("  -H 'content-type: application/json'", `  -d ${shellQuote(JSON.stringify(json))}`);
  }
  for (const [name, value] of Object.entries(form ?? {})) lines.push(`  -F ${shellQuote(`${name}=${value}`)}`);
  if (upload) lines.push(`  --data-binary ${shellQuote(upload)}`);
  if (file) lines.push(`  --output ${file}`);
  return lines.join(" \\\n");
}

/** Any JSON value as Python writes it. */
export function pythonValue(value, indent = "") {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  const items = Array.isArray(value)
    ? value.map((each) => inner + pythonValue(each, inner))
    : Object.entries(value).map(([name, each]) => `${inner}${JSON.stringify(name)}: ${pythonValue(each, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return items.length ? `${open}\n${items.join(",\n")},\n${indent}${close}` : open + close;
}

function pythonHeaders(headers, secret) {
  const items = Object.entries(headers).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  if (secret) items.push(`"${secret[0]}": f"${secret[1]}{os.environ['${secret[2]}']}"`);
  return items.length ? `{${items.join(", ")}}` : null;
}

function python({ origin, request, secret, file }) {
  const { method, path, headers, json, form, file: upload } = request;
  const options = [JSON.stringify(origin + path)];
  const known = pythonHeaders(headers, secret);
  if (known) options.push(`headers=${known}`);
  if (json !== undefined) options.push(`json=${pythonValue(json, "    ")}`);
  if (form) {
    const files = Object.entries(form).filter(([, value]) => String(value).startsWith("@"));
    const fields = Object.fromEntries(Object.entries(form).filter(([, value]) => !String(value).startsWith("@")));
    if (Object.keys(fields).length) options.push(`data=${pythonValue(fields, "    ")}`);
    const opened = files.map(([name, value]) => `${JSON.stringify(name)}: open(${JSON.stringify(value.slice(1))}, "rb")`);
    options.push(`files={${opened.join(", ")}}`);
  }
  if (upload) options.push(`content=open(${JSON.stringify(upload.slice(1))}, "rb").read()`);
  options.push("timeout=None");
  return [
    ...(secret ? ["import os", ""] : []),
    "import httpx",
    "",
    "answer = httpx.request(",
    `    "${method}",`,
    ...options.map((option) => `    ${option},`),
    ").raise_for_status()",
    file ? `open("${file}", "wb").write(answer.content)` : "print(answer.text)",
  ].join("\n");
}

function javascript({ origin, request, secret, file }) {
  const { method, path, headers, json, form, file: upload } = request;
  const uses = [...(form || upload ? ["readFile"] : []), ...(file ? ["writeFile"] : [])];
  const lines = uses.length ? [`import { ${uses.join(", ")} } from "node:fs/promises";`, ""] : [];
  if (form) {
    lines.push("const form = new FormData();");
    for (const [name, value] of Object.entries(form)) {
      const from = String(value).startsWith("@") ? JSON.stringify(value.slice(1)) : null;
      const given = from ? `new Blob([await readFile(${from})]), ${from}` : JSON.stringify(value);
      lines.push(`form.append(${JSON.stringify(name)}, ${given});`);
    }
  }
  const sent = { ...(json === undefined ? {} : { "content-type": "application/json" }), ...headers };
  const items = Object.entries(sent).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  if (secret) items.push(`"${secret[0]}": \`${secret[1]}\${process.env.${secret[2]}}\``);
  lines.push(`const answer = await fetch(${JSON.stringify(origin + path)}, {`, `  method: "${method}",`);
  if (items.length) lines.push(`  headers: { ${items.join(", ")} },`);
  if (json !== undefined) lines.push(`  body: JSON.stringify(${indented(json)}),`);
  if (form) lines.push("  body: form,");
  if (upload) lines.push(`  body: await readFile(${JSON.stringify(upload.slice(1))}),`);
  lines.push("});", "if (!answer.ok) throw new Error(await answer.text());");
  lines.push(file ? `await writeFile("${file}", new Uint8Array(await answer.arrayBuffer()));` : "console.log(await answer.text());");
  return lines.join("\n");
}

function indented(json) {
  return JSON.stringify(json, null, 2).replaceAll("\n", "\n  ");
}

function pythonSocket({ origin, request, secret }) {
  const known = pythonHeaders(request.headers, secret);
  const address = JSON.stringify(origin.replace(/^http/, "ws") + request.path);
  const { packed } = request;
  return [
    ...(packed ? [] : ["import json"]),
    ...(secret ? ["import os"] : []),
    ...(packed && !secret ? [] : [""]),
    ...(packed ? ["import msgpack"] : []),
    "from websockets.sync.client import connect",
    "",
    `messages = ${pythonValue(request.messages)}`,
    `with connect(${address}${known ? `, additional_headers=${known}` : ""}, max_size=None) as socket:`,
    "    for message in messages:",
    `        socket.send(${packed ? "msgpack.packb" : "json.dumps"}(message))`,
    "    for message in socket:",
    packed
      ? "        print(msgpack.unpackb(message))"
      : '        print(message if isinstance(message, str) else f"{len(message)} bytes of audio")',
  ].join("\n");
}

function javascriptSocket({ origin, request, secret }) {
  const known = Object.keys(request.headers).length || secret;
  const { packed } = request;
  const lines = packed ? ['import { decode, encode } from "@msgpack/msgpack";', ""] : [];
  if (secret) lines.push("// The key goes along as a subprotocol, for a browser's socket can send no header.");
  const key = secret ? `, ["voxfleet", \`voxfleet.key.\${process.env.${secret[2]}}\`]` : "";
  lines.push(
    `const socket = new WebSocket(${JSON.stringify(origin.replace(/^http/, "ws") + request.path)}${known ? key : ""});`,
    'socket.binaryType = "arraybuffer";',
    "socket.onopen = () => {",
    ...request.messages.map((message) => `  socket.send(${packed ? "encode" : "JSON.stringify"}(${JSON.stringify(message)}));`),
    "};",
    "socket.onmessage = ({ data }) => {",
    packed
      ? "  console.log(decode(data));"
      : '  console.log(typeof data === "string" ? data : `${data.byteLength} bytes of audio`);',
    "};",
  );
  return lines.join("\n");
}
