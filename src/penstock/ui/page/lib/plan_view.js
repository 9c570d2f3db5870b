// A plan as people read it: problems first, then each change with its keys, hooks and notes.
import { h } from "./dom.js";
import { plural } from "./format.js";
import { empty, notice } from "./parts.js";

const SIGNS = { create: ["+", "green"], "create-topic": ["+", "green"], update: ["~", "amber"], "change-topic": ["~", "amber"], state: ["~", "amber"], claim: ["=", "grey"], delete: ["−", "red"] };

export function planView(plan) {
  const problems = plan.problems.map(problemOf);
  const unchanged = plan.unchanged ? h("footer", {}, `${plural(plan.unchanged, "connector")} unchanged`) : null;
  if (!plan.changes.length && !problems.length) return h("div", {}, empty("Nothing to do", "The worker is as the file says."), unchanged);
  return h("div", {}, problems.length ? h("div", { class: "body stack" }, problems) : null, plan.changes.map(changeOf), unchanged);
}

function problemOf({ severity, file, line, column, path, message, suggestion }) {
  const where = [file, line !== null && line !== undefined ? `${line}:${column}` : null].filter(Boolean).join(":");
  return notice(severity === "error" ? "red" : "amber", h("strong", {}, [where, path].filter(Boolean).join(" ")), h("br"), `${message} ${suggestion ?? ""}`);
}

function changeOf(change) {
  const [sign, colour] = SIGNS[change.action] ?? ["~", "grey"];
  return h("div", { class: "change", "data-change": change.name },
    h("div", { class: "row" }, h("span", { class: ["state", colour], "aria-hidden": "true" }, sign), h("strong", {}, change.name), h("span", { class: "tag" }, change.action), change.effect !== "nothing" && h("span", { class: "tag" }, change.effect), h("span", { class: "quiet" }, change.summary)),
    change.state && h("div", { class: "small" }, `State: ${change.state.before ?? "not there"} → ${change.state.after}`),
    change.keys.length ? keysTable(change) : null,
    change.hooks.map((hook) => h("div", { class: "small" }, "Hook ", h("code", {}, hook.hook), ` will be called ${hook.when}`)),
    change.notes.map((note) => h("div", { class: "small quiet" }, note)));
}

function keysTable({ keys, name }) {
  const value = (text) => (text === null ? h("span", { class: "none" }, "not set") : text);
  const rows = keys.map((one) =>
    h("tr", {}, h("th", { scope: "row", class: "mono" }, one.key, one.drift && [" ", h("span", { class: "tag drift" }, "drifted")]), h("td", { class: one.before === null ? null : "removed" }, value(one.before)), h("td", { class: one.after === null ? null : "added" }, value(one.after))));
  return h("table", { class: "diff" }, h("caption", { class: "unseen" }, `Keys of ${name}`), h("thead", {}, h("tr", {}, ["Key", "Before", "After"].map((label) => h("th", { scope: "col" }, label)))), h("tbody", {}, rows));
}
