// The workers of the cluster with what they run, clean-ups that are owed, and log levels.
import { perform, viewing } from "../lib/actions.js";
import { get, getOr } from "../lib/api.js";
import { h, onChange, swap } from "../lib/dom.js";
import { connectors } from "../lib/fleet.js";
import { ago, plural } from "../lib/format.js";
import * as operations from "../lib/operations.js";
import { empty, head, notice, panel, search, table } from "../lib/parts.js";
import { link } from "../lib/router.js";
import { badge } from "../lib/states.js";
import { mayChange, whyNot } from "../lib/users.js";
import { cleanupsTable } from "./connector/lifecycle.js";

const EVERY_MS = 3000;
const LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"];

export function workersView(root, life) {
  document.title = "Workers – Penstock";
  viewing(operations.listLoggers());
  const workers = h("div");
  const cleanups = h("div");
  const loggers = h("div");
  root.append(head("Workers"), workers, cleanups, loggers);
  const drawWorkers = onChange((rows) => swap(workers, workersPanel(rows)));
  const drawCleanups = onChange((found) => swap(cleanups, found.length ? cleanupsTable(found, () => refresh(), "Clean-ups owed") : panel("Clean-ups owed", {}, empty("None", "Deletion hooks that still have to succeed are listed here."))));
  let text = "";
  let levels = null;
  const drawLoggers = onChange((found, words) => swap(loggers, loggersPanel(found, words, (value) => { text = value; drawLoggers(levels, text); }, () => refresh())));
  const refresh = life.poll(
    async () => {
      const { signal } = life;
      const [fleet, owed, found, members] = await Promise.all([
        connectors(signal), get(["lifecycle", "cleanups"], { signal }), getOr(null, ["admin", "loggers"], { signal }), getOr([], ["workers"], { signal }),
      ]);
      levels = found;
      drawWorkers(workersOf(fleet, members));
      drawCleanups(owed);
      drawLoggers(levels, text);
    },
    EVERY_MS,
    (error) => swap(workers, notice("red", error.message)),
  );
}

/** The members of the cluster, and whoever else is said to run something. */
function workersOf(fleet, members) {
  const found = new Map();
  const at = (id) => found.get(id) ?? found.set(id, { id, connectors: [], tasks: 0, failed: 0 }).get(id);
  for (const member of members) Object.assign(at(member.worker_id), { member: true, leader: members.length > 1 && member.leader, version: member.version });
  for (const one of fleet) {
    at(one.status.connector.worker_id).connectors.push({ name: one.name, state: one.status.connector.state });
    for (const task of one.status.tasks) {
      at(task.worker_id).tasks += 1;
      at(task.worker_id).failed += task.state === "FAILED" ? 1 : 0;
    }
  }
  return [...found.values()].sort((a, b) => a.id.localeCompare(b.id));
}

function tags(worker) {
  return [worker.leader && "leader", !worker.member && "not in the group"].filter(Boolean);
}

function workersPanel(rows) {
  if (!rows.length) return panel("Workers", {}, empty("Nothing runs yet", "Workers are listed with the connectors and tasks that they run."));
  const lines = rows.map((worker) =>
    h("tr", {},
      h("th", { scope: "row", class: "worker" }, worker.id, tags(worker).map((tag) => [" ", h("span", { class: "tag" }, tag)])),
      h("td", { class: "quiet" }, worker.version ?? "–"),
      h("td", { class: "number" }, String(worker.connectors.length)),
      h("td", { class: "number" }, String(worker.tasks)),
      h("td", { class: "number" }, String(worker.failed)),
      h("td", {}, h("details", { "data-key": `worker ${worker.id}` }, h("summary", {}, plural(worker.connectors.length, "connector")),
        h("ul", { class: "stack" }, worker.connectors.map((one) => h("li", { class: "row" }, h("a", { href: link(["connectors", one.name]) }, one.name), badge(one.state))))))));
  const number = (label) => ({ label, class: "number" });
  return panel("Workers", {}, table("Workers", ["Worker", "Version", number("Connectors"), number("Tasks"), number("Failed tasks"), "What it runs"], lines));
}

function loggersPanel(levels, text, find, refresh) {
  if (!levels) return panel("Log levels", {}, empty("Not served here", "The admin endpoints have a listener of their own, or none."));
  const names = Object.keys(levels).filter((name) => name.toLowerCase().includes(text.toLowerCase()));
  const rows = names.map((name) => {
    const { level, last_modified: changed } = levels[name];
    const choose = h("select", {
      "aria-label": `Level of ${name}`, "data-key": `level ${name}`, disabled: !mayChange(), title: mayChange() ? null : whyNot(),
      onchange: (event) => perform(operations.setLogger(name, event.target.value, false)).catch(() => {}).then(refresh),
    }, [...new Set([...LEVELS, level])].map((one) => h("option", { value: one, selected: one === level }, one)));
    return h("tr", {}, h("th", { scope: "row", class: "mono" }, name), h("td", { class: "choice" }, choose), h("td", { class: "quiet" }, changed ? `changed ${ago(changed)}` : "–"));
  });
  return panel("Log levels", { tools: search("Find a logger", text, find, { id: "find-logger" }) }, rows.length ? table("Log levels", ["Logger", "Level", "Changed"], rows) : empty("Nothing matches"));
}
