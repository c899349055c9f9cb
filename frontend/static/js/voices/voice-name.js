/** What a voice is called wherever pages name it. */
import { t } from "../i18n/i18n.js";
import "./messages.js";

/** The model's own voice is the one that pages know to name. */
export const isDefault = ({ id, kind }) => id === "default" && kind === "built-in";

/** Whether it is the id of a voice that was made of recordings; what else names a voice is a name, or of a model. */
export const isMade = (id) => /^v_[0-9a-f]+$/.test(id);

/** @param {{id: string, name?: string, kind?: string}} voice of GET /api/voices */
export function voiceName({ id, name, kind }) {
  if (isDefault({ id, kind })) return t("voices.default");
  const called = name || id;
  return kind === "built-in" ? called.charAt(0).toUpperCase() + called.slice(1) : called;
}
