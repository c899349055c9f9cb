/** How loud two clips are against each other, so that neither seems better for being louder. */
const FRAME_SECONDS = 0.05;
const LEAST_VOLUME = 0.1;

/** Root mean square of the louder half of the frames. @param {Float32Array} samples in [-1, 1] @param {number} sampleRate */
export function loudness(samples, sampleRate) {
  const size = Math.round(FRAME_SECONDS * sampleRate);
  const power = (frame) => samples.subarray(frame * size, (frame + 1) * size).reduce((sum, sample) => sum + sample * sample, 0) / size;
  const powers = Array.from({ length: Math.floor(samples.length / size) }, (_, frame) => power(frame)).sort((a, b) => b - a);
  const louder = powers.slice(0, Math.ceil(powers.length / 2));
  return louder.length > 0 ? Math.sqrt(louder.reduce((sum, value) => sum + value, 0) / louder.length) : 0;
}

/** Volumes in [0.1, 1] with which two clips of these loudnesses sound alike; 1 where one is silent. @returns {[number, number]} */
export function matchedVolumes(first, second) {
  if (!(first > 0 && second > 0)) return [1, 1];
  const volume = (own, other) => Math.max(LEAST_VOLUME, Math.min(1, other / own));
  return [volume(first, second), volume(second, first)];
}
