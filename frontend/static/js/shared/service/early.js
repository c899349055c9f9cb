// Runs before the first paint: applies what is remembered (theme.js, i18n.js, a strip that was closed), and asks for what
// the page needs first (`data-ask` of its own element), while the page's script is still being read. On the admin page it
// begins to listen (`data-listen`) where the token is known. early-answers.js hands the answers on. It says so, too, if the
// page's script does not come.
(() => {
  const kept = (storage, name) => {
    try {
      return globalThis[storage].getItem(`voxfleet.${name}`);
    } catch {
      return null; // as in storage.js
    }
  };
  const theme = kept("localStorage", "theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (kept("localStorage", "welcome")) document.documentElement.dataset.welcomed = "";
  const language = kept("localStorage", "language") ?? navigator.language;
  const chinese = language.toLowerCase().startsWith("zh");
  document.documentElement.lang = chinese ? "zh-CN" : "en";
  if (chinese) document.documentElement.dataset.unsaid = ""; // the words of the HTML are English

  // Without its script a page looks as if it worked. The words of all else come with that.
  const tell = () => {
    const [words, reload] = chinese ? ["此页面未能完整加载。", "重新加载页面"] : ["This page could not be loaded whole.", "Reload the page"];
    const notice = document.createElement("div");
    notice.className = "notice notice-danger";
    notice.setAttribute("role", "alert");
    const button = Object.assign(document.createElement("button"), { className: "button", type: "button", textContent: reload });
    button.addEventListener("click", () => location.reload());
    notice.append(Object.assign(document.createElement("p"), { textContent: words }), button);
    document.body.prepend(notice);
    delete document.documentElement.dataset.unsaid;
  };
  addEventListener("error", ({ target }) => target?.tagName === "SCRIPT" && tell(), { capture: true });

  const key = kept("sessionStorage", "apiKey") ?? kept("localStorage", "apiKey"); // as in fleet.js
  const options = key ? { headers: { authorization: `Bearer ${key}` } } : {};
  const ask = (document.currentScript.dataset.ask ?? "").replace("{page}", location.pathname + location.search);
  const asked = ask.split(" ").filter(Boolean);
  globalThis.voxfleetEarly = new Map(asked.map((path) => [path, fetch(path, options)]));
  const { listen } = document.currentScript.dataset;
  const given = listen && new URLSearchParams(location.hash.slice(1)).get("token");
  const token = given || (listen && kept("sessionStorage", "adminToken")); // as in access.js
  if (token) {
    const stop = new AbortController();
    const headers = { accept: "text/event-stream", "x-admin-token": token };
    globalThis.voxfleetEarly.set(listen, Object.assign(fetch(listen, { headers, signal: stop.signal }), { stop }));
  }
  for (const answer of globalThis.voxfleetEarly.values()) answer.catch(() => {}); // whoever takes it sees the failure
})();
