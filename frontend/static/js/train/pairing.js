/**
 * Files that somebody chose, as recordings with what is said in them. Transcripts are found in the layouts that people
 * have:
 *
 *   1.wav  1.txt                                     a transcript beside each recording
 *   metadata.csv   LJ001-0001|raw text|spoken text   LJSpeech's
 *   train.jsonl    {"audio": "clips/1.wav", "text": "Good morning."}   VoxCPM's
 */
import { readable } from "../client/http.js";
import { textOf } from "../shared/files/text-of.js";

const AUDIO = /\.(wav|flac|aiff?|mp3|aac|m4a|ogg|opus|webm)$/i;
const TABLE = /\.csv$/i;
const LINES = /\.jsonl$/i;
const TEXT = /\.txt$/i;

/**
 * @param {File[]} files
 * @returns {Promise<{recordings: {audio: File, name: string, transcript: string}[], unreadable: string[]}>} by name; where
 *   nothing says so, the transcript is "". The names of those that cannot be read, as when one was moved or is a folder.
 */
export async function recordingsOf(files) {
  const sound = await Promise.all(files.map((file) => readable([file])));
  const good = files.filter((_, place) => sound[place]);
  const transcripts = new Map();
  for (const file of good) {
    const read = [[TABLE, tableOf], [LINES, linesOf], [TEXT, (text) => [[stem(file.name), text]]]].find(([kind]) => kind.test(file.name))?.[1];
    if (read) for (const [name, text] of read(await textOf(file))) transcripts.set(name, oneLine(text));
  }
  const recordings = good
    .filter(({ name, type }) => AUDIO.test(name) || type.startsWith("audio/"))
    .map((audio) => ({ audio, name: audio.name, transcript: transcripts.get(stem(audio.name)) ?? "" }))
    .sort((one, other) => one.name.localeCompare(other.name, undefined, { numeric: true }));
  return { recordings, unreadable: files.filter((file) => !good.includes(file)).map(({ name }) => name) };
}

/** Name and last column of each line with |. */
function tableOf(text) {
  const rows = text.split(/\r?\n/).map((line) => line.split("|"));
  return rows.filter(({ length }) => length > 1).map((columns) => [stem(columns[0].trim()), columns.at(-1)]);
}

function linesOf(text) {
  return text.split(/\r?\n/).flatMap((line) => {
    try {
      const { audio, text: said } = JSON.parse(line);
      return typeof audio === "string" && typeof said === "string" ? [[stem(audio), said]] : [];
    } catch {
      return []; // such a line names no recording
    }
  });
}

/** "clips/1.wav" -> "1" */
function stem(path) {
  return path.split(/[\\/]/).at(-1).replace(/\.\w+$/, "");
}

function oneLine(text) {
  return text.replace(/^\uFEFF/, "").split(/\s+/).filter(Boolean).join(" ");
}
