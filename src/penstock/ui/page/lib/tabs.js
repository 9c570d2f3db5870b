// A row of tabs: arrow keys move between them, the chosen one is in the order of the Tab key.
import { h } from "./dom.js";

/**
 * `choose(id)` is called for another tab and puts a new row in place; the panel has the id `tabpanel`. `counts` are texts
 * that stand beside the labels of some.
 */
export function tabs(label, all, chosen, choose, counts = {}) {
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? all.length - 1 : null;
    if (!step && to === null) return;
    event.preventDefault();
    const here = all.findIndex((one) => one.id === chosen);
    const next = all[to ?? (here + step + all.length) % all.length];
    choose(next.id);
  };
  const made = all.map((one) => {
    const selected = one.id === chosen;
    return h(
      "button",
      {
        type: "button", role: "tab", id: `tab-${one.id || "main"}`, "aria-selected": String(selected), "aria-controls": selected ? "tabpanel" : null,
        tabindex: selected ? "0" : "-1", onclick: () => choose(one.id),
      },
      one.label,
      counts[one.id] && [" ", h("span", { class: "count" }, counts[one.id])],
    );
  });
  return h("div", { class: "tabs", role: "tablist", "aria-label": label, onkeydown: move }, made);
}
