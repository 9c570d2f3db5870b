// How connectors are: a word, a colour and a sign for each, never the colour alone.
import { h } from "./dom.js";
import { icon } from "./icons.js";

const HEALTHS = {
  healthy: { label: "Healthy", colour: "green", sign: "check" },
  degraded: { label: "Degraded", colour: "amber", sign: "warn" },
  stalled: { label: "Stalled", colour: "amber", sign: "waiting" },
  failed: { label: "Failed", colour: "red", sign: "failed" },
};
const PASSING = ["RESTARTING", "UNASSIGNED"];

export const describeHealth = (health) => HEALTHS[health] ?? { label: health, colour: "grey", sign: "info" };

export function healthBadge(health) {
  const { label, colour, sign } = describeHealth(health);
  return h("span", { class: ["state", colour], "data-health": health }, icon(sign), label);
}

/** Whether somebody should look at it: not when it is well, nor while it only starts. */
export function needsAttention(health) {
  const parts = [health.connector, ...health.tasks];
  const passing = health.health === "degraded" && parts.every((part) => part.health === "healthy" || PASSING.includes(part.state));
  return health.health !== "healthy" && !passing;
}

/** When the next automatic restart of any part is due, in milliseconds; null when none is. */
export function nextRestart(health) {
  const planned = [health.connector, ...health.tasks].map((part) => part.next_restart).filter((one) => one !== null);
  return planned.length ? Math.min(...planned) : null;
}
