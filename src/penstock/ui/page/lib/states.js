// The states of connectors and tasks: a word, a colour and a sign for each, never the colour alone.
import { h } from "./dom.js";
import { needsAttention } from "./health.js";
import { icon } from "./icons.js";

export const STATES = {
  RUNNING: { label: "Running", colour: "green", sign: "running" },
  DEGRADED: { label: "Degraded", colour: "amber", sign: "warn" },
  STALLED: { label: "Stalled", colour: "amber", sign: "waiting" },
  FAILED: { label: "Failed", colour: "red", sign: "failed" },
  PAUSED: { label: "Paused", colour: "blue", sign: "paused" },
  STOPPED: { label: "Stopped", colour: "grey", sign: "stopped" },
  RESTARTING: { label: "Restarting", colour: "blue", sign: "restart" },
  UNASSIGNED: { label: "Unassigned", colour: "blue", sign: "waiting" },
};

export const describe = (state) => STATES[state] ?? { label: state, colour: "grey", sign: "info" };

/**
 * The state of a connector with its tasks and its health: DEGRADED when it runs and some of its tasks failed or have
 * trouble, STALLED when it runs and does not come on.
 */
export function overall(status, health) {
  const state = status.connector.state;
  const failed = status.tasks.filter((task) => task.state === "FAILED").length;
  if (state !== "FAILED" && failed) return failed === status.tasks.length ? "FAILED" : "DEGRADED";
  return state === "RUNNING" && health && needsAttention(health) ? health.health.toUpperCase() : state;
}

/** `why` is told to who points at it. */
export function badge(state, why) {
  const { label, colour, sign } = describe(state);
  return h("span", { class: ["state", colour], "data-state": state, title: why }, icon(sign), label);
}

/** One small bar a task, and how many of them run. */
export function taskBars(tasks) {
  if (!tasks.length) return h("span", { class: "quiet" }, "none");
  const running = tasks.filter((task) => task.state === "RUNNING").length;
  const failed = tasks.filter((task) => task.state === "FAILED").length;
  const words = `${running} of ${tasks.length} running${failed ? `, ${failed} failed` : ""}`;
  const bars = tasks.slice(0, 24).map((task) => h("span", { class: ["pip", describe(task.state).colour] }));
  return h("span", { class: "nowrap" }, h("span", { class: "pips", "aria-hidden": "true" }, bars), " ", h("span", { class: "unseen" }, words), h("span", { "aria-hidden": "true" }, `${running}/${tasks.length}`));
}
