// A configuration to look at, without its secrets.
import { getOr } from "./api.js";
import { h } from "./dom.js";
import { table } from "./parts.js";
import { shown } from "./secret_looks.js";

const known = new Map();

/** The keys that a plugin declares as passwords; none of one that is not there. */
export async function declaredSecrets(plugin) {
  if (!known.has(plugin)) {
    const definitions = await getOr([], ["connector-plugins", plugin, "config"]).catch(() => []);
    known.set(plugin, new Set(definitions.filter((one) => one.type === "PASSWORD").map((one) => one.name)));
  }
  return known.get(plugin);
}

export function configTable(label, config, secrets) {
  const rows = Object.entries(config).sort().map(([key, value]) =>
    h("tr", {}, h("th", { scope: "row", class: "mono" }, key), h("td", { class: "mono wrap" }, shown(key, value, secrets) ?? "null")));
  return table(label, ["Key", "Value"], rows);
}
