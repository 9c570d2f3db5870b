// Icons of 16 × 16, drawn with the colour of the text. Always decoration: the words stand beside them.
import { s } from "./dom.js";

const STROKES = {
  overview: "M2 9.5h3.2V14H2zM6.4 6h3.2v8H6.4zM10.8 2H14v12h-3.2z",
  connectors: "M2 5h4.5a2 2 0 0 1 2 2v2a2 2 0 0 0 2 2H14M12 9l2 2-2 2M2 11h2.5M10.5 5H14",
  topics: "M2.5 4h11M2.5 8h11M2.5 12h7",
  pipelines: "M3 2.5h7l3 3v8H3zM10 2.5v3h3M5.5 8.5h5M5.5 11h3",
  workers: "M2.5 2.5h11v4.5h-11zM2.5 9h11v4.5h-11zM5 4.75h.01M5 11.25h.01",
  plus: "M8 3v10M3 8h10",
  play: "M5 3.2v9.6l7.5-4.8z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  stop: "M4 4h8v8H4z",
  restart: "M12.8 8a4.8 4.8 0 1 1-1.5-3.5L13 6M13 2.8V6H9.8",
  trash: "M3 4.5h10M6.2 4.5V3h3.6v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3L14 14",
  check: "M3.5 8.5l3 3 6-7",
  cross: "M4 4l8 8M12 4l-8 8",
  warn: "M8 2.5L14.5 13.5h-13zM8 6.8v3M8 11.6h.01",
  failed: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM5.8 5.8l4.4 4.4M10.2 5.8l-4.4 4.4",
  running: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.7 5.6v4.8L10.6 8z",
  paused: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.5 6v4M9.5 6v4",
  stopped: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6 6h4v4H6z",
  waiting: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.2l2 1.3",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.3v3.4M8 5.2h.01",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  history: "M2.8 8a5.2 5.2 0 1 0 1.6-3.8L2.8 5.6M2.8 2.6v3h3M8 5.2V8l2 1.4",
  sun: "M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6zM8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  moon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  system: "M2 3h12v8H2zM5.5 14h5M8 11v3",
  keyboard: "M1.5 4h13v8h-13zM4 6.5h.01M6.7 6.5h.01M9.4 6.5h.01M12 6.5h.01M5 9.5h6",
  up: "M8 3v10M4 7l4-4 4 4",
  down: "M8 3v10M4 9l4 4 4-4",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 9.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6z",
  edit: "M3 13l.6-2.8L10.8 3l2.2 2.2-7.2 7.2zM9.3 4.5l2.2 2.2",
  source: "M6 8h8M11.5 5L14.5 8l-3 3M2.5 3v10",
  sink: "M2 8h8M7.5 5L10.5 8l-3 3M13.5 3v10",
  opened: "M4 6l4 4 4-4",
  closed: "M6 4l4 4-4 4",
};

export function icon(name, className) {
  return s(
    "svg",
    { class: ["icon", className], viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" },
    s("path", {
      d: STROKES[name],
      fill: "none",
      stroke: "currentColor",
      "stroke-width": "1.5",
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
    }),
  );
}
