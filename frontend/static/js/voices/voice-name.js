/** What a voice is called wherever pages name it. */
import { t } from "../i18n/i18n.js";
import "./messages.js";

/** The model's own voice is the one that pages know to name. */
export const isDefault = ({ id, kind }) => id === "default" && kind === "built-in";

/** @param {{id: string, name?: string, kind?: string}} voice of GET /api/voices */
export function voiceName({ id, name, kind }) {
  if (isDefault({ id, kind })) return t("voices.default");
  const called = name || id;
  return kind === "built-in" ? called.charAt(0).toUpperCase() + called.slice(1) : called;
}
