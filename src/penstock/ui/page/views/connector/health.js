// How a connector is, and why.
import { h } from "../../lib/dom.js";
import { ago, clock, plural, withoutModules } from "../../lib/format.js";
import { healthBadge, nextRestart } from "../../lib/health.js";
import { panel } from "../../lib/parts.js";

export function healthPanel(health) {
  const next = nextRestart(health);
  const unknown = health.tasks.filter((task) => !task.live);
  const facts = [
    ["How it is", [healthBadge(health.health), health.reason ? h("span", {}, withoutModules(health.reason)) : null]],
    ["Last progress", health.last_progress === null ? "none yet, since its tasks were started" : ago(health.last_progress)],
    ["Automatic restarts", `${health.restarts || "none"}${next === null ? "" : `, the next at ${clock(next)}`}`],
    unknown.length ? ["Not asked", `${plural(unknown.length, "task")} on a worker that does not answer`] : null,
  ];
  return panel("Health", {}, h("dl", { class: "facts-row body" }, facts.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
}
