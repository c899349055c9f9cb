/**
 * Has the browser keep the pages (frontend/service-worker.js), once this one is there. Browsers do that on https and
 * localhost alone, and a page works without.
 */
export function keepForLater() {
  if (!globalThis.navigator?.serviceWorker) return;
  const register = () => navigator.serviceWorker.register("/service-worker.js").catch(() => null); // kept nowhere then
  if (document.readyState === "complete") register();
  else window.addEventListener("load", register, { once: true });
}
