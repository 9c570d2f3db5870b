// Light, dark, or as the system has it.

const ORDER = ["system", "light", "dark"];
export const THEMES = {
  system: { label: "System theme", sign: "system" },
  light: { label: "Light theme", sign: "sun" },
  dark: { label: "Dark theme", sign: "moon" },
};

export const theme = () => document.documentElement.dataset.theme ?? "system";

/** Go to the next theme and remember it. */
export function nextTheme() {
  const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
  if (next === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem("penstock.theme", next);
  } catch {
    // Storage may be switched off; the choice lasts until the page is left.
  }
  return next;
}
