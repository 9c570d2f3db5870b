// The last lines that workers logged for a connector, the newest first.
import { get } from "../../lib/api.js";
import { h, onChange, swap } from "../../lib/dom.js";
import { moment, plural } from "../../lib/format.js";
import { empty, notice, panel, table } from "../../lib/parts.js";

const EVERY_MS = 2000;
const LINES = "200";
const COLOURS = { FATAL: "red", ERROR: "red", WARN: "amber" };

export function logTab(root, life, { name }) {
  const area = h("div");
  let onlyBad = false;
  let lines = [];
  const choose = h("select", { "aria-label": "Lines to show", onchange: (event) => { onlyBad = event.target.value === "bad"; draw(lines, onlyBad); } },
    h("option", { value: "all" }, "All lines"), h("option", { value: "bad" }, "Warnings and errors"));
  root.append(h("div", { class: "choice" }, choose), area);
  const draw = onChange((found, bad) => swap(area, logPanel(bad ? found.filter((line) => COLOURS[line.level]) : found)));
  life.poll(
    async () => {
      lines = (await get(["connectors", name, "logs"], { query: { lines: LINES }, signal: life.signal })).lines;
      draw(lines, onlyBad);
    },
    EVERY_MS,
    (error) => swap(area, notice("red", error.message)),
  );
  return { update: () => {} };
}

function logPanel(lines) {
  const tools = h("span", { class: "quiet push" }, plural(lines.length, "line"));
  if (!lines.length) return panel("Recent log", { tools }, empty("Nothing was logged", "Workers keep the last lines of a connector until they end."));
  const rows = [...lines].reverse().map((line) =>
    h("tr", {},
      h("td", { class: "nowrap" }, moment(line.time)),
      h("td", {}, h("span", { class: ["state", COLOURS[line.level] ?? "grey"] }, line.level)),
      h("td", { class: "nowrap" }, line.task === null ? "connector" : `task ${line.task}`),
      h("td", { class: "message" }, line.message, h("span", { class: "quiet block" }, `${line.logger} on ${line.worker_id}`))));
  return panel("Recent log", { tools }, table("Recent log", ["Time", "Level", "Of", "Message"], rows, { className: "log" }));
}
