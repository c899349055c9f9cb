/**
 * html-validate's recommended rules on pages as they are served: node html.mjs URL...
 * Prints a line for each fault.
 */
import { HtmlValidate } from "html-validate";

const validator = new HtmlValidate({ extends: ["html-validate:recommended"] });
for (const url of process.argv.slice(2)) {
  const markup = await (await fetch(url)).text();
  const { results } = await validator.validateString(markup, url);
  for (const { messages } of results) {
    for (const { line, ruleId, message } of messages) console.log(`${new URL(url).pathname}:${line} ${ruleId}: ${message}`);
  }
}
