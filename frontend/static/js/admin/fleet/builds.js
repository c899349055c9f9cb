/** Which builds a gateway and its workers run. Those that are too old to say run "". */
import { t } from "../words.js";

const nameOf = (build) => build || t("admin.buildUnknown");

/** What is said of a fleet of several builds, or null. @param {string | undefined} own the gateway's @param {{state: string, build?: string}[]} workers */
export function mixedText(own = "", workers) {
  const counts = new Map();
  for (const { state, build = "" } of workers) {
    if (state !== "DOWN") counts.set(build, (counts.get(build) ?? 0) + 1);
  }
  if (![...counts.keys()].some((build) => build !== own)) return null;
  const builds = [...counts].map(([build, count]) => t("admin.buildCount", { build: nameOf(build), count }));
  return t("admin.mixed", { own: nameOf(own), builds: builds.join(" · ") });
}

/** What is said of gateways of several builds that share a database, or null. @param {{build: string, gateways: number}[] | undefined} gateways */
export function mixedGatewaysText(gateways = []) {
  if (gateways.length < 2) return null;
  const builds = gateways.map(({ build, gateways: count }) => t("admin.buildCount", { build: nameOf(build), count }));
  return t("admin.mixedGateways", { builds: builds.join(" · ") });
}

/** What is said of a worker whose build is not the gateway's, or "". @param {{state: string, build?: string}} worker */
export function otherBuild(own = "", { state, build = "" }) {
  return state === "DOWN" || build === own ? "" : t("admin.otherBuild", { build: nameOf(build) });
}
