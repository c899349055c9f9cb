/**
 * What a WebSocket's close code says when no message said it before.
 */
/** The connection ended without one. */
export const NO_CLOSE = 1006;
const CLOSES = {
  [NO_CLOSE]: ["connection_lost", "The connection to the gateway was lost."],
  1008: ["refused", "The gateway refused the request."],
  1009: ["too_large", "The request is too large."],
  1011: ["speech_failed", "Speech generation failed."],
  1012: ["restarting", "The gateway is restarting. Try again in a moment."],
  1013: ["at_capacity", "The gateway is at capacity. Try again in a moment."],
};

/** @param {number} code @returns {{code: string, message: string, close_code: number}} */
export function closeProblem(code) {
  const [name, message] = CLOSES[code] ?? ["closed", `The connection closed (${code}).`];
  return { code: name, message, close_code: code };
}
