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
  },
});

const attribute = (page, selector, name, value) =>
  page.waitForFunction((s, n, v) => document.querySelector(s)?.getAttribute(n) === v, { timeout: PATIENCE }, selector, name, value);
const text = (page, selector, wanted) =>
  page.waitForFunction((s, w) => document.querySelector(s)?.textContent.includes(w), { timeout: PATIENCE }, selector, wanted);
const click = async (page, selector) => (await page.waitForSelector(selector, { visible: true, timeout: PATIENCE })).click();

async function open(page, path) {
  await page.goto(new URL(path, origin).href);
  await attribute(page, ".lamp", "data-state", "ready");
}

async function fill(page, selector, words) {
  await page.waitForSelector(selector, { visible: true, timeout: PATIENCE });
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
    await page.waitForFunction(() => document.querySelectorAll(".word.heard").length === 5, { timeout: PATIENCE });
  },

  /** A recording is examined, saved with consent, and spoken with. */
  async voices(page) {
    await open(page, "/");
    await click(page, "#new-voice");
    await page.waitForSelector("dialog[open]");
    await page.waitForFunction(() => document.querySelector("#consent-statement")?.textContent, { timeout: PATIENCE });
    await (await page.$("#voice-file")).uploadFile(voiceFile);
    await fill(page, "#voice-name", "Anna");
    await click(page, "#consent");
    await fill(page, "#consent-by", "Anna");
    await click(page, "#voice-save");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"), { timeout: PATIENCE });
    await text(page, "#voices", "Anna");
  },

  async book(page) {
    await open(page, "/book");
    await (await page.$("#file")).uploadFile(bookFile);
    await page.waitForFunction(() => location.pathname.startsWith("/book/b_"), { timeout: PATIENCE });
    await click(page, "#make");
    await text(page, "#progress-words", "all spoken");
  },

  async sessions(page) {
    await open(page, "/sessions");
    await page.waitForSelector("main", { visible: true });
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
