/** Which workers can be spoken with. */
const SERVING = ["IDLE", "BUSY"];

/** @param {{state: string}} worker */
export function serves({ state }) {
  return SERVING.includes(state);
}

/** Whether nobody could be spoken to without this worker. @param {string} id @param {{id: string, state: string}[]} workers */
export function isOnlyServing(id, workers) {
  return !workers.some((worker) => worker.id !== id && serves(worker));
}
