// All connectors, as views want them.
import { get } from "./api.js";
import { reason, withoutModules } from "./format.js";
import { needsAttention } from "./health.js";
import { overall } from "./states.js";

/** Connectors by name: `{name, type, className, state, status, health, config, workers, failed, why}`. */
export async function connectors(signal) {
  const found = await get(["connectors"], { query: { expand: ["status", "info", "health"] }, signal });
  return Object.entries(found)
    .filter(([, one]) => one.status && one.info)
    .map(([name, one]) => connectorOf(name, one))
    .sort((a, b) => a.name.localeCompare(b.name));
}

function connectorOf(name, { status, info, health }) {
  const parts = [status.connector, ...status.tasks];
  const failed = parts.find((part) => part.state === "FAILED");
  return {
    name,
    status,
    health,
    config: info.config,
    type: status.type,
    className: info.config["connector.class"] ?? "",
    state: overall(status, health),
    workers: [...new Set(parts.map((part) => part.worker_id))].sort(),
    failed: Boolean(failed),
    why: failed ? reason(failed.trace) || "It failed without a trace." : health && needsAttention(health) ? withoutModules(health.reason ?? "") : null,
  };
}
