/** The stage says that a clip is made into a file, and offers wav where another format cannot be had. */
import { t } from "../i18n/i18n.js";
import { downloadClip } from "./history/download.js";

/**
 * @param {import("./utterance.js").Utterance} utterance
 * @param {string} format
 * @param {Stage} stage
 * @param {() => void} over called when there is a file, or an error is shown
 */
export async function saveClip(utterance, format, stage, over) {
  if (format !== "wav") stage.say(() => t("stage.making", { format }));
  try {
    await downloadClip(utterance, format);
  } catch (error) {
    const as = (other) => () => saveClip(utterance, other, stage, over);
    stage.showProblem(error, { again: as(format), wav: as("wav") });
  }
  over();
}
