/*
 * Keeps the pages for when the gateway cannot be reached, so that what the browser holds (the studio's history, texts)
 * can be used. It keeps pages and files of /static alone: no answer of the API passes through it.
 *
 * A page comes from the gateway whenever that answers, and names the files of its own edition, so a new version is there
 * at the next load. Files of an edition never change and come from here first.
 *
 * gateway/site/offline.py fills in the two constants.
 */
const EDITION = "";
const FILES = [];

const KEPT = "voxfleet-";
const CACHE = KEPT + EDITION;
const PAGES = ["/", "/live", "/chat", "/book", "/book/any", "/sessions", "/sessions/any", "/train", "/admin", "/docs"];
const OF_AN_EDITION = /^\/static\/v-[0-9a-f]{16}\//;
const GATEWAY_IS_AWAY = [502, 503, 504];

addEventListener("install", (event) => event.waitUntil(fill().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(forgetOthers()));

addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate") {
    const page = pageOf(pathname);
    if (page) event.respondWith(pageFrom(event, page));
  } else if (OF_AN_EDITION.test(pathname)) event.respondWith(fileFrom(event));
});

/** The page that an address shows, by the address that it is kept under; undefined for what is no page. */
function pageOf(pathname) {
  const [, room, rest] = pathname.split("/");
  if (rest && room === "docs") return "/docs";
  return PAGES.find((page) => page === (rest ? `/${room}/any` : pathname));
}

async function fill() {
  const cache = await caches.open(CACHE);
  await Promise.all(FILES.map(async (file) => cache.put(file, await ofThisEdition(file))));
  await Promise.all(PAGES.map(async (page) => keep(page, await fetch(page, { cache: "no-cache" }))));
}

/** Nothing is kept where a gateway of another version answers, as during an upgrade: the next load tries again. */
async function ofThisEdition(file) {
  const answer = await fetch(file);
  if (!isOfItsEdition(answer)) throw new TypeError(`${file} is of another edition`);
  return answer;
}

/** For the address of another edition, gateways of old send their present file, which is not to be kept under it. */
function isOfItsEdition(answer) {
  return answer.status === 200 && (answer.headers.get("cache-control") ?? "").includes("immutable");
}

/** Only a page itself: one that is switched off leads elsewhere. */
async function keep(page, answer) {
  if (answer.ok && !answer.redirected && answer.type === "basic") await (await caches.open(CACHE)).put(page, answer);
}

async function forgetOthers() {
  const others = (await caches.keys()).filter((name) => name.startsWith(KEPT) && name !== CACHE);
  await Promise.all(others.map((name) => caches.delete(name)));
}

async function pageFrom(event, page) {
  const kept = () => caches.open(CACHE).then((cache) => cache.match(page));
  let answer;
  try {
    answer = await fetch(event.request);
  } catch (error) {
    const found = await kept();
    if (found) return found;
    throw error;
  }
  if (GATEWAY_IS_AWAY.includes(answer.status)) return (await kept()) ?? answer;
  event.waitUntil(keep(page, answer.clone()));
  return answer;
}

async function fileFrom(event) {
  const found = await caches.match(event.request.url);
  if (found) return found;
  const answer = await fetch(event.request);
  if (isOfItsEdition(answer)) {
    const copy = answer.clone();
    event.waitUntil(caches.open(CACHE).then((cache) => cache.put(event.request.url, copy)));
  }
  return answer;
}
