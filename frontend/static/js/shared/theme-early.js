// Applies what is remembered before the first paint: theme and language (theme.js, i18n.js), a strip that was closed.
(() => {
  const theme = localStorage.getItem("voxfleet.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  if (localStorage.getItem("voxfleet.welcome")) document.documentElement.dataset.welcomed = "";
  const language = localStorage.getItem("voxfleet.language") ?? navigator.language;
  document.documentElement.lang = language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
})();
