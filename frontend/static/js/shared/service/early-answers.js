/**
 * Answers to what early.js asked for before this page's script ran. Each is there for the first who wants it.
 */

/**
 * @param {string} path @param {AbortSignal} [signal] ends what is listened to
 * @returns {Promise<Response> | undefined} nothing where it was not asked for, or was taken
 */
export function takeEarly(path, signal) {
  const answer = globalThis.voxfleetEarly?.get(path);
  globalThis.voxfleetEarly?.delete(path);
  if (answer?.stop) signal?.addEventListener("abort", () => answer.stop.abort());
  return answer;
}
