/** How long a recording is. */

/** Some browsers load nothing that is not played, such as those of phones that save data, and say so by no event. */
const MOST_MS = 10_000;

/** Seconds of a recording; null where this browser cannot tell. @param {Blob} audio @returns {Promise<number | null>} */
export async function lengthOf(audio) {
  const url = URL.createObjectURL(audio);
  const player = new Audio();
  let waiting;
  const loaded = new Promise((resolve) => {
    waiting = setTimeout(() => resolve(null), MOST_MS);
    player.addEventListener("error", () => resolve(null));
    player.addEventListener("loadedmetadata", () => resolve(Number.isFinite(player.duration) ? player.duration : null));
  });
  player.preload = "metadata";
  player.src = url;
  const seconds = await loaded;
  clearTimeout(waiting);
  player.removeAttribute("src"); // browsers have few players: it is one again
  player.load();
  URL.revokeObjectURL(url);
  return seconds;
}
