// Applies the remembered theme and language before the first paint; the rest is in theme.js and i18n.js.
(() => {
  const theme = localStorage.getItem("voxfleet.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  const language = localStorage.getItem("voxfleet.language") ?? navigator.language;
  document.documentElement.lang = language.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
})();
