// Runs before the first paint: applies what is remembered (theme.js, i18n.js, a strip that was closed), and asks for what
// the page needs first (`data-ask` of its own element), while the page's script is still being read. early-answers.js
// hands the answers on.
(() => {
  const theme = localStorage.getItem("voxfleet.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (localStorage.getItem("voxfleet.welcome")) document.documentElement.dataset.welcomed = "";
  const language = localStorage.getItem("voxfleet.language") ?? navigator.language;
  const chinese = language.toLowerCase().startsWith("zh");
  document.documentElement.lang = chinese ? "zh-CN" : "en";
  if (chinese) document.documentElement.dataset.unsaid = ""; // the words of the HTML are English

  const key = sessionStorage.getItem("voxfleet.apiKey") ?? localStorage.getItem("voxfleet.apiKey"); // as in fleet.js
  const options = key ? { headers: { authorization: `Bearer ${key}` } } : {};
  const asked = (document.currentScript.dataset.ask ?? "").split(" ").filter(Boolean);
  globalThis.voxfleetEarly = new Map(asked.map((path) => [path, fetch(path, options)]));
  for (const answer of globalThis.voxfleetEarly.values()) answer.catch(() => {}); // whoever takes it sees the failure
})();
