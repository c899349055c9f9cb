/**
 * Several files as one, without compressing them: audio would not get smaller. The format: PKWARE's APPNOTE.TXT, 4.3.
 *
 *   save(await zipOf([{ name: "hello.wav", blob, at: Date.now() }]), "clips.zip");
 */
const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const END = 0x06054b50;
const VERSION = 20;
const UTF8_NAMES = 0x0800;

/** @param {{name: string, blob: Blob, at: number}[]} files under 4 GiB together, at: ms @returns {Promise<Blob>} */
export async function zipOf(files) {
  const parts = [];
  const entries = [];
  let offset = 0;
  for (const { name, blob, at } of files) {
    const label = new TextEncoder().encode(name);
    const about = { at, size: blob.size, sum: crc32(new Uint8Array(await blob.arrayBuffer())), label, offset };
    parts.push(header(LOCAL, about), label, blob);
    offset += 30 + label.length + blob.size;
    entries.push(header(CENTRAL, about), label);
  }
  const directory = new Blob(entries);
  return new Blob([...parts, directory, end(files.length, directory.size, offset)], { type: "application/zip" });
}

/** The header of one file, before it or in the directory. */
function header(kind, { at, size, sum, label, offset }) {
  const [date, time] = dosTime(new Date(at));
  const central = kind === CENTRAL;
  const fields = [[4, kind], ...(central ? [[2, VERSION]] : []), [2, VERSION], [2, UTF8_NAMES], [2, 0], [2, time], [2, date], [4, sum], [4, size], [4, size], [2, label.length], [2, 0]];
  if (central) fields.push([2, 0], [2, 0], [2, 0], [4, 0], [4, offset]);
  return bytes(fields);
}

function end(count, size, offset) {
  return bytes([[4, END], [2, 0], [2, 0], [2, count], [2, count], [4, size], [4, offset], [2, 0]]);
}

/** @param {[2 | 4, number][]} fields widths and values, little-endian */
function bytes(fields) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [width]) => sum + width, 0)));
  let offset = 0;
  for (const [width, value] of fields) {
    if (width === 2) view.setUint16(offset, value, true);
    else view.setUint32(offset, value, true);
    offset += width;
  }
  return view.buffer;
}

function dosTime(at) {
  const date = ((Math.max(1980, at.getFullYear()) - 1980) << 9) | ((at.getMonth() + 1) << 5) | at.getDate();
  return [date, (at.getHours() << 11) | (at.getMinutes() << 5) | (at.getSeconds() >> 1)];
}

const TABLE = Uint32Array.from({ length: 256 }, (_, start) => {
  let value = start;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** @param {Uint8Array} data @returns {number} its CRC-32 */
export function crc32(data) {
  let value = 0xffffffff;
  for (const byte of data) value = TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
