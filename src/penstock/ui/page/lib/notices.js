// Telling the user what happened: seen as a toast, heard from a live region.
import { h } from "./dom.js";
import { icon } from "./icons.js";

const SECONDS = 6;

/** Say something to a screen reader only. */
export function announce(text) {
  const region = document.getElementById("announcer");
  region.textContent = "";
  requestAnimationFrame(() => {
    region.textContent = text;
  });
}

/** Show a message for some seconds; a failure stays until it is dismissed. */
export function toast(text, bad = false) {
  announce(text);
  const close = h(
    "button",
    { type: "button", class: "button plain small square", "aria-label": "Dismiss", onclick: () => note.remove() },
    icon("cross"),
  );
  const note = h("div", { class: ["toast", bad && "bad"] }, icon(bad ? "failed" : "check"), h("div", {}, text), close);
  const area = document.getElementById("toasts");
  area.append(note);
  while (area.children.length > 4) area.firstChild.remove();
  if (!bad) setTimeout(() => note.remove(), SECONDS * 1000);
}
