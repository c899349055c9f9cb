// Applies the remembered theme before the first paint; the rest is in theme.js.
(() => {
  const theme = localStorage.getItem("voxfleet.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
