// The tasks of a connector with their traces, and how much it moves.
import { perform } from "../../lib/actions.js";
import { get } from "../../lib/api.js";
import { configTable, declaredSecrets } from "../../lib/config_table.js";
import { chart } from "../../lib/chart.js";
import { showDialog } from "../../lib/dialogs.js";
import { h, onChange, swap } from "../../lib/dom.js";
import { observeConnector } from "../../lib/flow.js";
import { clock, compact, plural, rate, reason } from "../../lib/format.js";
import * as operations from "../../lib/operations.js";
import { button, commandsOf, copyButton, empty, notice, panel, table } from "../../lib/parts.js";
import { link } from "../../lib/router.js";
import { badge } from "../../lib/states.js";
import { healthPanel } from "./health.js";

const FLOW_MS = 2000;
const TOPICS_SHOWN = 3;

export function tasksTab(root, life, shared) {
  const wellness = h("div");
  const failure = h("div");
  const tasks = h("div");
  const flow = h("div", { class: "columns even" });
  root.append(wellness, failure, flow, tasks);
  const drawFailure = onChange((component) => swap(failure, component.trace ? failurePanel(component) : null));
  const drawTasks = onChange((status, healths) => swap(tasks, tasksPanel(status, healths, shared)));
  let charts = null;
  const observe = life.poll(async () => {
    if (!charts) return;
    charts.update(await observeConnector({ name: shared.name, config: shared.info.config, type: shared.status.type }, life.signal));
  }, FLOW_MS);
  return {
    update: ({ status, health }) => {
      if (!charts) {
        charts = flowCharts(flow, status.type);
        observe();
      }
      swap(wellness, healthPanel(health));
      drawFailure(status.connector);
      const troubled = status.tasks.some((task) => task.trace);
      if (troubled !== (tasks.nextSibling === flow)) root.insertBefore(tasks, troubled ? flow : null);
      drawTasks(status, health.tasks);
    },
  };
}

function flowCharts(root, type) {
  const sink = type === "sink";
  const moved = chart(sink ? "Records delivered" : "Records into its topics", "records/s");
  const movedNow = h("span", { class: "now push" }, "measuring …");
  const topics = h("footer", { class: "wrap" }, "…");
  const drawTopics = onChange((found) => swap(topics, topicsLine(sink, found)));
  root.append(panel(sink ? "Records delivered" : "Records into its topics", { tools: movedNow }, moved.node, topics));
  const lag = sink ? chart("Lag", "records", { colour: 2, format: compact, whole: true }) : null;
  const lagNow = h("span", { class: "now push" }, "measuring …");
  if (sink) root.append(panel("Lag", { tools: lagNow }, lag.node));
  else root.classList.remove("columns", "even");
  return {
    update: (seen) => {
      moved.update(seen.rates);
      drawTopics(seen.topics);
      movedNow.textContent = seen.now === null ? "measuring …" : `${rate(seen.now)} records/s`;
      if (!sink) return;
      lag.update(seen.lags);
      lagNow.textContent = seen.lag === null ? "not known" : plural(seen.lag, "record");
    },
  };
}

/** The way to the records themselves. */
function topicsLine(sink, topics) {
  if (!topics.length) return sink ? "No topic that it reads is there yet." : "It has written to no topic yet.";
  const shown = topics.slice(0, TOPICS_SHOWN).flatMap(({ name, count }, index) => [index ? ", " : "", h("a", { href: link(["topics", name]), "data-key": `topic ${name}` }, name), ` (${plural(count, "record")})`]);
  const left = topics.length - TOPICS_SHOWN;
  return h("div", {}, sink ? "Reads " : "See them in ", shown, left > 0 && ` and ${plural(left, "more topic")}`);
}

function failurePanel({ trace }) {
  return panel(
    "Why the connector failed",
    { tools: h("span", { class: "push" }, copyButton("trace", trace)) },
    h("div", { class: "body stack" }, notice("red", reason(trace)), traceOf(trace, "Trace of the connector")),
  );
}

const traceOf = (trace, label) => h("pre", { class: "code trace", tabindex: "0", role: "group", "aria-label": label, "data-scroll": label }, trace.trim());

function tasksPanel(status, healths, shared) {
  const { tasks } = status;
  const tools = h("span", { class: "quiet push" }, plural(tasks.length, "task"));
  if (!tasks.length) {
    const stopped = status.connector.state === "STOPPED";
    return panel("Tasks", { tools }, empty("No tasks", stopped ? "A stopped connector has none. Resume it to start them." : "It has made none yet, or there is nothing for it to do."));
  }
  const rows = tasks.flatMap((task) => taskRows(task, healths.find((one) => one.id === task.id), shared));
  const columns = ["Task", "State", { label: "Last progress", class: "aside" }, { label: "Restarts", class: "number aside" }, { label: "Worker", class: "aside" }, { label: "Version", class: "aside spare" }, { label: "Actions", unseen: true }];
  return panel("Tasks", { tools }, table("Tasks", columns, rows));
}

function taskRows(task, health, { name, info, refresh }) {
  const operation = () => operations.restartTask(name, task.id);
  const row = h(
    "tr",
    { "data-task": task.id },
    h("th", { scope: "row" }, String(task.id)),
    h("td", {}, badge(task.state)),
    h("td", { class: "quiet small aside" }, health?.last_progress ? clock(health.last_progress) : "–"),
    h("td", { class: "number aside" }, String(health?.restarts ?? 0)),
    h("td", { class: "quiet small wrap aside" }, task.worker_id),
    h("td", { class: "quiet small aside spare" }, task.version ?? "–"),
    h(
      "td",
      {},
      h("div", { class: "row end" },
        button("Restart", { small: true, iconName: "restart", key: `restart ${task.id}`, operation, "aria-label": `Restart task ${task.id}`, onclick: () => perform(operation()).catch(() => {}).then(refresh) }),
        button("Configuration", { small: true, key: `config ${task.id}`, "aria-label": `Configuration of task ${task.id}`, onclick: () => showTaskConfig(name, task.id, info.config["connector.class"]) })),
    ),
  );
  if (!task.trace) return [row];
  const label = `Trace of task ${task.id}`;
  const trace = h(
    "tr",
    { "data-trace": task.id },
    h("td", { colspan: "7" },
      h("div", { class: "stack" },
        h("div", { class: "row" }, notice("red", reason(task.trace)), copyButton(label, task.trace)),
        h("details", { "data-key": `trace ${task.id}`, open: true }, h("summary", { class: "quiet" }, label), traceOf(task.trace, label)))),
  );
  return [row, trace];
}

async function showTaskConfig(name, id, connectorClass) {
  const tasks = await get(["connectors", name, "tasks"]);
  const config = tasks.find((task) => task.id.task === id)?.config ?? {};
  const label = `Configuration of task ${id}`;
  const shown = configTable(label, config, await declaredSecrets(connectorClass));
  showDialog(label, [shown, h("details", { open: true }, h("summary", { class: "quiet" }, "The same from a terminal"), commandsOf(operations.showTasks(name)))]);
}
