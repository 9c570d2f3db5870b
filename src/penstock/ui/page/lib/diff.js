// What differs between two configurations, key by key.
import { h } from "./dom.js";
import { shown } from "./secret_looks.js";

/** `[{key, before, after}]`, undefined where a key is missing. */
export function changes(before, after) {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return keys.filter((key) => before[key] !== after[key]).map((key) => ({ key, before: before[key], after: after[key] }));
}

/** A table of changes, without secrets; `secrets` are keys that are declared as such. */
export function diffTable(found, secrets) {
  const value = (key, text) => {
    if (text === undefined) return h("span", { class: "none" }, "not set");
    return String(shown(key, text, secrets));
  };
  const kind = ({ before, after }) => (before === undefined ? "added" : after === undefined ? "removed" : "changed");
  const rows = found.map((one) =>
    h("tr", {}, h("th", { scope: "row", class: "mono" }, one.key), h("td", { class: "kind" }, kind(one)), h("td", { class: one.before === undefined ? null : "removed" }, value(one.key, one.before)), h("td", { class: one.after === undefined ? null : "added" }, value(one.key, one.after))),
  );
  const columns = ["Key", "Change", "Before", "After"].map((label) => h("th", { scope: "col" }, label));
  return h("table", { class: "diff" }, h("caption", { class: "unseen" }, "What changes"), h("thead", {}, h("tr", {}, columns)), h("tbody", {}, rows));
}
