/**
 * What is in an answer: what was thought before it, and its paragraphs and pieces of code.
 *
 * Of Markdown the fences of code alone are understood; everything else stays as it was written.
 */
const [BEGIN, END] = ["<think>", "</think>"];
/** Indentation, marks, and what is said behind them. All marks or none: a long row of them would be tried at every length. */
const FENCE = /^(\s*)(`{3,}(?!`)|~{3,}(?!~))([^`]*)$/;

/**
 * What was thought, and what is said. Some models have the first mark in their template, and write the second alone.
 * @param {string} text of an answer, or its beginning @returns {{thought: string, said: string, thinking: boolean}}
 */
export function partsOf(text) {
  const begun = text.trimStart();
  const end = text.indexOf(END);
  if (end >= 0) return { thought: text.slice(0, end).replace(BEGIN, "").trim(), said: text.slice(end + END.length).trimStart(), thinking: false };
  if (begun.startsWith(BEGIN)) return { thought: begun.slice(BEGIN.length).trim(), said: "", thinking: true };
  if (begun && BEGIN.startsWith(begun)) return { thought: "", said: "", thinking: true }; // half a mark
  return { thought: "", said: begun, thinking: false };
}

/**
 * Paragraphs, which keep their lines, and code between fences; code whose end has not come yet goes to the end.
 * @param {string} text @returns {{kind: "text" | "code", text: string, language?: string}[]}
 */
export function blocksOf(text) {
  const blocks = [];
  let paragraph = [];
  let code = null;
  const close = () => {
    if (paragraph.length > 0) blocks.push({ kind: "text", text: paragraph.join("\n") });
    paragraph = [];
  };
  for (const line of text.split("\n")) {
    const fence = FENCE.exec(line);
    if (code) {
      if (ends(code, fence)) code = null;
      else code.block.text += (code.empty ? "" : "\n") + line.slice(indentOf(line, code.indent));
      if (code) code.empty = false;
    } else if (fence) {
      close();
      code = { indent: fence[1].length, fence: fence[2], empty: true, block: { kind: "code", text: "", language: fence[3].trim().split(/\s/, 1)[0] } };
      blocks.push(code.block);
    } else if (line.trim() === "") close();
    else paragraph.push(line.trimEnd());
  }
  close();
  return blocks;
}

function ends(code, fence) {
  return fence !== null && fence[3].trim() === "" && fence[2].startsWith(code.fence);
}

/** How much of the fence's own indentation a line has. */
function indentOf(line, most) {
  return Math.min(most, line.length - line.trimStart().length);
}
