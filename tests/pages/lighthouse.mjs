/**
 * Lighthouse on pages as they are served: node lighthouse.mjs PORT desktop|mobile CATEGORIES REPORT URL...
 * PORT is that of a Chromium with --remote-debugging-port. Prints a line for each page:
 * {scores: {category: 0 to 100}, metrics: {...}, faults: [...]}. Writes all of the (last) report to the file REPORT, unless
 * that is "".
 */
import { writeFile } from "node:fs/promises";
import lighthouse, { desktopConfig } from "lighthouse";

const [port, formFactor, categories, report, ...urls] = process.argv.slice(2);
const options = { port: Number(port), logLevel: "error", onlyCategories: categories.split(",") };
const config = formFactor === "desktop" ? desktopConfig : { extends: "lighthouse:default" };
// A page that is told news is never quiet: all that loads has loaded by then.
config.settings = { ...config.settings, maxWaitForLoad: 20_000 };
if (!options.onlyCategories.includes("performance")) {
  // Nothing is timed, so nothing is waited for but the page itself: a busy machine is never quiet. What a page has stored
  // is kept, since it is four seconds until it is gone.
  const unhurried = { throttlingMethod: "provided", maxWaitForLoad: 5_000, disableFullPageScreenshot: true };
  config.settings = { ...config.settings, ...unhurried, disableStorageReset: true };
}
const failed = (lhr, { id, weight }) => weight > 0 && lhr.audits[id].score !== null && lhr.audits[id].score < 1;

function fault(lhr, { id }) {
  const { title, displayValue = "", details } = lhr.audits[id];
  return `${id}: ${title} ${displayValue} ${JSON.stringify(details?.items?.slice(0, 3) ?? []).slice(0, 600)}`;
}

function summary(lhr) {
  const found = Object.values(lhr.categories);
  const metrics = (lhr.categories.performance?.auditRefs ?? []).filter(({ group, weight }) => group === "metrics" && weight > 0);
  const faults = found.flatMap(({ auditRefs }) => auditRefs.filter((audit) => failed(lhr, audit)));
  return {
    scores: Object.fromEntries(found.map(({ id, score }) => [id, score === null ? null : Math.round(100 * score)])),
    metrics: Object.fromEntries(metrics.map(({ id }) => [id, lhr.audits[id].numericValue])),
    faults: faults.map((audit) => fault(lhr, audit)),
  };
}

for (const url of urls) {
  const { lhr } = await lighthouse(url, options, config);
  if (report) await writeFile(report, JSON.stringify(lhr));
  console.log(JSON.stringify(summary(lhr)));
}
process.exit(0); // it leaves a connection to the browser open
