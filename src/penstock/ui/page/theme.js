// Runs before the first paint: a chosen theme must not flash through the other one.
(function () {
  try {
    const chosen = localStorage.getItem("penstock.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage may be switched off; the theme of the system is used then.
  }
})();
