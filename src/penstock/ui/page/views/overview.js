// The overview: how many connectors are in which state, how much moves, what somebody should look at.
import { perform, viewing } from "../lib/actions.js";
import { get, getOr } from "../lib/api.js";
import { chart } from "../lib/chart.js";
import { h, onChange, swap } from "../lib/dom.js";
import { connectors } from "../lib/fleet.js";
import { countOf, observeTopics, topicRate } from "../lib/flow.js";
import { ago, compact, plural, rate, reason, withoutModules } from "../lib/format.js";
import { describeHealth, needsAttention } from "../lib/health.js";
import { icon } from "../lib/icons.js";
import * as operations from "../lib/operations.js";
import { button, empty, head, newConnectorLink, notice, panel, table } from "../lib/parts.js";
import { link } from "../lib/router.js";
import { describe } from "../lib/states.js";

const EVERY_MS = 2500;
const TILES = ["RUNNING", "DEGRADED", "STALLED", "FAILED", "PAUSED", "STOPPED", "RESTARTING", "UNASSIGNED"];
const RARE = new Set(["STALLED", "RESTARTING", "UNASSIGNED"]);

export function overviewView(root, life) {
  document.title = "Overview – Penstock";
  viewing(operations.listConnectors());
  const tiles = h("div", { class: "tiles" });
  const attention = h("div");
  const topics = h("div");
  const moved = chart("Records into topics", "records/s");
  const now = h("span", { class: "now push" }, "measuring …");
  const trouble = h("div");
  root.append(
    head("Overview", { actions: newConnectorLink() }),
    trouble,
    tiles,
    h("div", { class: "columns even" }, attention, panel("Records into topics", { tools: now }, moved.node)),
    topics,
  );
  const drawTiles = onChange((counts) => swap(tiles, tilesOf(counts)));
  const drawAttention = onChange((items) => swap(attention, attentionPanel(items, () => refresh())));
  const drawTopics = onChange((rows) => swap(topics, topicsPanel(rows)));
  const refresh = life.poll(
    async () => {
      const { signal } = life;
      const [fleet, allTopics, cleanups, declared] = await Promise.all([
        connectors(signal),
        get(["topics"], { signal }),
        get(["lifecycle", "cleanups"], { signal }),
        getOr({ pipelines: [], problems: [] }, ["pipelines"], { signal }),
      ]);
      trouble.replaceChildren();
      const total = observeTopics(allTopics);
      drawTiles(countsOf(fleet));
      drawAttention(attentionOf(fleet, cleanups, declared));
      drawTopics(busiest(allTopics));
      moved.update(total.rates);
      now.textContent = total.now === null ? "measuring …" : `${rate(total.now)} records/s`;
    },
    EVERY_MS,
    (error) => trouble.replaceChildren(notice("red", error.message)),
  );
}

function countsOf(fleet) {
  const counts = Object.fromEntries(TILES.map((state) => [state, 0]));
  for (const one of fleet) counts[one.state] = (counts[one.state] ?? 0) + 1;
  const tasks = fleet.flatMap((one) => one.status.tasks);
  return { counts, total: fleet.length, tasks: tasks.length, running: tasks.filter((task) => task.state === "RUNNING").length };
}

function tilesOf({ counts, total, tasks, running }) {
  const shown = TILES.filter((state) => counts[state] || !RARE.has(state));
  const all = h(
    "a",
    { class: "tile", href: link(["connectors"]), "data-key": "all", title: `${running} of ${plural(tasks, "task")} running` },
    h("span", { class: "what" }, icon("connectors"), "Connectors"),
    h("span", { class: "much" }, String(total)),
    h("span", { class: "more" }, `${running}/${tasks} tasks`),
  );
  return [all, ...shown.map((state) => stateTile(state, counts[state]))];
}

function stateTile(state, count) {
  const { label, colour, sign } = describe(state);
  return h(
    "a",
    { class: ["tile", !count && "none"], href: link(["connectors"], { state }), "data-key": state },
    h("span", { class: "what" }, h("span", { class: count ? colour : null }, icon(sign)), label),
    h("span", { class: "much" }, String(count)),
    h("span", { class: "more" }, count === 1 ? "connector" : "connectors"),
  );
}

function attentionOf(fleet, cleanups, declared) {
  const failed = fleet
    .filter((one) => needsAttention(one.health))
    .map((one) => ({ kind: "failed", name: one.name, health: one.health.health, why: withoutModules(one.health.reason ?? ""), failed: one.failed }));
  const idle = fleet
    .filter((one) => one.state === "RUNNING" && !one.status.tasks.length)
    .map((one) => ({ kind: "idle", name: one.name }));
  const owed = cleanups
    .filter((one) => one.error)
    .map((one) => ({ kind: "cleanup", id: one.id, name: one.connector, why: reason(one.error), since: ago(one.since), tries: one.tries }));
  const drifted = declared.pipelines.flatMap((pipeline) =>
    pipeline.connectors
      .filter((one) => one.drift.length)
      .map((one) => ({ kind: "drift", name: one.name, file: pipeline.file, keys: one.drift })),
  );
  const problems = declared.problems.map((problem) => ({ kind: "file", name: problem.file, why: problem.message }));
  return [...failed, ...owed, ...idle, ...problems, ...drifted];
}

function attentionPanel(items, refresh) {
  const body = items.length
    ? h("ul", { class: "attention" }, items.slice(0, 30).map((item) => h("li", {}, attentionItem(item, refresh))))
    : empty("All is well", "No connector has failed, no clean-up is owed, nothing has drifted from its file.");
  return panel("Needs attention", { tools: items.length ? h("span", { class: "quiet push" }, String(items.length)) : null }, body);
}

function attentionItem(item, refresh) {
  const mark = (colour, sign) => h("span", { class: ["mark", colour] }, icon(sign));
  const text = (title, ...why) => h("div", { class: "text" }, h("div", {}, title), h("div", { class: "why" }, ...why));
  const to = (...tab) => h("a", { href: link(["connectors", item.name, ...tab]), "data-key": `${item.kind} ${item.name}` }, item.name);
  if (item.kind === "failed") {
    const { label, colour, sign } = describeHealth(item.health);
    const operation = () => operations.restartFailed(item.name);
    const again = button("Restart failed", {
      small: true, key: `again ${item.name}`, operation,
      onclick: () => perform(operation()).catch(() => {}).then(refresh),
    });
    return [mark(colour, sign), text([to(), ` – ${label.toLowerCase()}`], item.why), item.failed ? again : null];
  }
  if (item.kind === "cleanup") {
    return [mark("amber", "warn"), text([`Clean-up of ${item.name}`], `Failed ${plural(item.tries, "time")}, since ${item.since}: ${item.why}`), h("a", { href: "#/workers" }, "Look")];
  }
  if (item.kind === "idle") return [mark("blue", "info"), text([to()], "It runs, but has no tasks.")];
  if (item.kind === "file") return [mark("amber", "warn"), text([`Pipeline file ${item.name}`], item.why)];
  return [mark("blue", "info"), text([to("config"), " has drifted"], `No longer as in ${item.file || "its pipeline"}: ${item.keys.join(", ")}`)];
}

function busiest(topics) {
  return topics
    .map((topic) => ({ name: topic.name, rate: topicRate(topic.name), count: countOf(topic) }))
    .sort((a, b) => (b.rate ?? 0) - (a.rate ?? 0) || b.count - a.count || a.name.localeCompare(b.name))
    .slice(0, 6)
    .map((topic) => ({ ...topic, rate: rate(topic.rate), count: compact(topic.count) }));
}

function topicsPanel(rows) {
  const lines = rows.map((topic) =>
    h("tr", {}, h("td", {}, h("a", { href: link(["topics", topic.name]), "data-key": `topic ${topic.name}` }, topic.name)), h("td", { class: "number" }, topic.rate), h("td", { class: "number" }, topic.count)),
  );
  const body = rows.length
    ? table("Busiest topics", ["Topic", { label: "Records/s", class: "number" }, { label: "Records", class: "number" }], lines)
    : empty("No topics yet", "The first record of a source makes one.");
  return panel("Busiest topics", { tools: h("a", { class: "push", href: "#/topics" }, "All topics") }, body);
}
