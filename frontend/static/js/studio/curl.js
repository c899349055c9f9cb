/**
 * The current settings as a curl command that can be pasted into a POSIX shell.
 *
 *   curl --fail-with-body 'http://localhost:8006/tts' \
 *     -H 'content-type: application/json' \
 *     -d '{"text":"It'\''s late.","voice":"slt","format":"wav"}' \
 *     --output speech.wav
 */

/** One shell word, whatever it holds. */
export function shellQuote(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** @param {string} origin scheme, host and port @param {object} request body of POST /tts */
export function curlCommand(origin, request) {
  return [
    `curl --fail-with-body ${shellQuote(`${origin}/tts`)}`,
    `  -H 'content-type: application/json'`,
    `  -d ${shellQuote(JSON.stringify(request))}`,
    `  --output speech.${request.format}`,
  ].join(" \\\n");
}
