/**
 * The most important paths of the pages in Firefox: node firefox.mjs FIREFOX URL ADMIN_PAGE VOICE_FILE BOOK_FILE
 * Prints one object: for each path "" or what went wrong, and what its page said to the console.
 */
import puppeteer from "puppeteer-core";

const [executablePath, origin, adminPage, voiceFile, bookFile] = process.argv.slice(2);
const PATIENCE = 40_000;
/** What Firefox says of what it does not know, or of a computer without sound. */
const HARMLESS = [/AudioContext/, /Feature Policy/, /Permissions Policy/, /font-size:0/, /autoplay/i];

const browser = await puppeteer.launch({
  browser: "firefox",
  executablePath,
  headless: true,
  extraPrefsFirefox: {
    "media.autoplay.default": 0,
    "media.autoplay.blocking_policy": 0,
    "media.navigator.permission.disabled": true,
    "media.navigator.streams.fake": true,
    // No more processes than these pages need.
    "dom.ipc.processPrelaunch.enabled": false,
    "browser.newtab.preload": false,
    "dom.ipc.processCount": 1,
    "dom.ipc.processCount.webIsolated": 1,
  },
});

/**
 * Asks again until it is so. Puppeteer's own waiting makes its functions by eval, which Firefox 140 refuses where the page
 * forbids it.
 */
async function until(page, isSo, ...values) {
  const end = Date.now() + PATIENCE;
  while (!(await page.evaluate(isSo, ...values).catch(whileLoading))) {
    if (Date.now() > end) throw new Error(`never so: ${isSo} of ${JSON.stringify(values)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A page that goes away answers nothing. */
function whileLoading(error) {
  if (!/context|navigat|realm|browsing|frame/i.test(String(error))) throw error;
  return false;
}

const attribute = (page, selector, name, value) =>
  until(page, (s, n, v) => document.querySelector(s)?.getAttribute(n) === v, selector, name, value);
const text = (page, selector, wanted) =>
  until(page, (s, w) => document.querySelector(s)?.textContent.includes(w) ?? false, selector, wanted);
const visible = (page, selector) => until(page, (s) => document.querySelector(s)?.checkVisibility({ visibilityProperty: true }) ?? false, selector);

async function click(page, selector) {
  await visible(page, selector);
  await (await page.$(selector)).click();
}

async function open(page, path) {
  await page.goto(new URL(path, origin).href);
  await attribute(page, ".lamp", "data-state", "ready");
}

async function fill(page, selector, words) {
  await visible(page, selector);
  await page.$eval(selector, (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }, words);
}

const PATHS = {
  /** A sentence is spoken, heard to its end, and kept in the history over a reload. */
  async studio(page) {
    await open(page, "/");
    await fill(page, "#text", "The quick brown fox sleeps.");
    await click(page, "#generate");
    await attribute(page, "#stage", "data-state", "done");
    await attribute(page, "#stage", "data-player", "ended");
    const { receivedSamples, playedSamples } = await page.$eval("#stage", (stage) => ({ ...stage.dataset }));
    if (!(receivedSamples > 0) || receivedSamples !== playedSamples)
      throw new Error(`received ${receivedSamples}, played ${playedSamples}`);
    await page.reload();
    await text(page, ".clip .clip-text", "The quick brown fox sleeps.");
  },

  async live(page) {
    await open(page, "/live");
    await click(page, "#start");
    await attribute(page, "#stage", "data-state", "live");
    await page.type("#text", "Hello there. How are you");
    await page.keyboard.down("Control");
    await page.keyboard.press("Enter");
    await page.keyboard.up("Control");
    await until(page, () => document.querySelectorAll(".word.heard").length === 5);
  },

  /** An answer of a text model, which a script of the page stands in for, is read, and is there after a reload. */
  async chat(page) {
    await page.evaluateOnNewDocument(() => {
      const ask = globalThis.fetch;
      const said = (content) => `data: ${JSON.stringify({ model: "m", choices: [{ delta: { content } }] })}\n\n`;
      const counted = 'data: {"model": "m", "choices": [], "usage": {"completion_tokens": 2}}\n\ndata: [DONE]\n\n';
      globalThis.fetch = async (address, options) => {
        if (String(address).endsWith("/v1/chat/completions")) return new Response(said("The old ship") + said(" came home.") + counted);
        const response = await ask(address, options);
        if (!String(address).endsWith("/api/config")) return response;
        return Response.json({ ...(await response.json()), text_models: ["m"] });
      };
    });
    await open(page, "/chat");
    await page.type("#text", "What did you see?");
    await page.keyboard.press("Enter");
    await text(page, ".turn[data-state=complete] .answer", "The old ship came home.");
    await page.reload();
    await text(page, ".answer", "The old ship came home.");
  },

  /** A recording is examined, saved with consent, and spoken with. */
  async voices(page) {
    await open(page, "/");
    await click(page, "#new-voice");
    await visible(page, "dialog[open]");
    await until(page, () => Boolean(document.querySelector("#consent-statement")?.textContent));
    await (await page.$("#voice-file")).uploadFile(voiceFile);
    await fill(page, "#voice-name", "Anna");
    await click(page, "#consent");
    await fill(page, "#consent-by", "Anna");
    await click(page, "#voice-save");
    await until(page, () => !document.querySelector("dialog[open]"));
    await text(page, "#voices", "Anna");
  },

  async book(page) {
    await open(page, "/book");
    await (await page.$("#file")).uploadFile(bookFile);
    await until(page, () => location.pathname.startsWith("/book/b_"));
    await click(page, "#make");
    await text(page, "#progress-words", "all spoken");
  },

  async sessions(page) {
    await open(page, "/sessions");
    await visible(page, "main");
  },

  async admin(page) {
    await page.goto(new URL(adminPage, origin).href);
    await text(page, "main", "of 1");
  },

  async docs(page) {
    await page.goto(new URL("/docs", origin).href);
    await text(page, "main", "/tts");
  },
};

const found = {};
for (const [name, walk] of Object.entries(PATHS)) {
  const page = await browser.newPage();
  const said = [];
  page.on("console", (message) => {
    const line = message.text();
    if (["error", "warn"].includes(message.type()) && !HARMLESS.some((one) => one.test(line))) said.push(line);
  });
  page.on("pageerror", (error) => said.push(`uncaught: ${error}`));
  let wrong = "";
  try {
    await walk(page);
  } catch (error) {
    wrong = String(error);
  }
  found[name] = { wrong, said };
  await page.close();
}
await browser.close();
console.log(JSON.stringify(found));
