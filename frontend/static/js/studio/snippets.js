/**
 * The current settings as code that can be pasted and run: curl, Python and JavaScript.
 *
 *   curl --fail-with-body 'http://localhost:8006/tts' \
 *     -H 'content-type: application/json' \
 *     -d '{"text":"It'\''s late.","voice":"ruth","format":"wav"}' \
 *     --output speech.wav
 */
export const SNIPPETS = { curl: curlCommand, Python: pythonCode, JavaScript: javascriptCode };

/** One shell word, whatever it holds. */
export function shellQuote(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * @param {string} origin scheme, host and port @param {object} request body of POST /tts
 * @param {{keyed?: boolean}} [options] keyed: take an API key from the environment
 */
export function curlCommand(origin, request, { keyed = false } = {}) {
  return [
    `curl --fail-with-body ${shellQuote(`${origin}/tts`)}`,
    ...(keyed ? [`  -H "authorization: Bearer $VOXFLEET_API_KEY"`] : []),
    `  -H 'content-type: application/json'`,
    `  -d ${shellQuote(JSON.stringify(request))}`,
    `  --output speech.${request.format}`,
  ].join(" \\\n");
}

/** A JSON value as Python writes it; what both quote alike stays as it is. */
function pythonLiteral(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}

/** @see curlCommand */
export function pythonCode(origin, request, { keyed = false } = {}) {
  const fields = Object.entries(request).map(([name, value]) => `    ${pythonLiteral(name)}: ${pythonLiteral(value)},`);
  const headers = keyed ? `, headers={"authorization": f"Bearer {os.environ['VOXFLEET_API_KEY']}"}` : "";
  return [
    ...(keyed ? ["import os", ""] : []),
    "import httpx",
    "",
    "request = {",
    ...fields,
    "}",
    `url = ${pythonLiteral(`${origin}/tts`)}`,
    `answer = httpx.post(url, json=request${headers}, timeout=None).raise_for_status()`,
    `with open("speech.${request.format}", "wb") as file:`,
    "    file.write(answer.content)",
  ].join("\n");
}

/** For Node; the client module of the pages does the same, and streams. @see curlCommand */
export function javascriptCode(origin, request, { keyed = false } = {}) {
  const key = keyed ? ", authorization: `Bearer ${process.env.VOXFLEET_API_KEY}`" : "";
  const fields = Object.entries(request).map(([name, value]) => `  ${name}: ${JSON.stringify(value)},`);
  return [
    'import { writeFile } from "node:fs/promises";',
    "",
    "const request = {",
    ...fields,
    "};",
    `const answer = await fetch(${JSON.stringify(`${origin}/tts`)}, {`,
    '  method: "POST",',
    `  headers: { "content-type": "application/json"${key} },`,
    "  body: JSON.stringify(request),",
    "});",
    "if (!answer.ok) throw new Error(await answer.text());",
    `await writeFile("speech.${request.format}", new Uint8Array(await answer.arrayBuffer()));`,
  ].join("\n");
}
