// All connectors: search, filter, sort, choose some and act on them.
import { perform, viewing } from "../lib/actions.js";
import { bulk } from "../lib/bulk.js";
import { h, onChange, swap } from "../lib/dom.js";
import { connectors } from "../lib/fleet.js";
import { plural, shortClass } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import * as operations from "../lib/operations.js";
import { button, empty, head, newConnectorLink, notice, panel, search, table } from "../lib/parts.js";
import { link, remember } from "../lib/router.js";
import { badge, describe, STATES, taskBars } from "../lib/states.js";

const EVERY_MS = 2000;
const PAGE = 200;
const COLUMNS = [
  { id: "name", label: "Name", value: (one) => one.name.toLowerCase() },
  { id: "state", label: "State", value: (one) => Object.keys(STATES).indexOf(one.state) },
  { id: "tasks", label: "Tasks", class: "aside", value: (one) => one.status.tasks.length },
  { id: "type", label: "Type", class: "aside", value: (one) => one.type },
  { id: "worker", label: "Worker", class: "aside", value: (one) => one.workers.join() },
];

export function connectorsView(root, life, { query }) {
  document.title = "Connectors – Penstock";
  viewing(operations.listConnectors());
  const filter = {
    text: query.get("q") ?? "", state: query.get("state") ?? "", type: query.get("type") ?? "",
    sort: query.get("sort") ?? "name", down: query.get("down") === "1",
  };
  const chosen = new Set();
  let fleet = null;
  let shownRows = PAGE;
  const chips = h("div", { class: "chips", role: "group", "aria-label": "State" });
  const types = h(
    "select",
    { "aria-label": "Type", value: filter.type, onchange: (event) => change({ type: event.target.value }) },
    [["", "All types"], ["source", "Sources"], ["sink", "Sinks"]].map(([value, label]) => h("option", { value, selected: value === filter.type }, label)),
  );
  const bar = h("div");
  const list = h("div");
  const count = h("span", { class: "quiet", role: "status" });
  const box = panel("", {}, h("div", { class: "filters" }, search("Search connectors", filter.text, (text) => change({ text }), { id: "search" }), types, chips), bar, list);
  box.setAttribute("aria-label", "Connectors");
  const trouble = h("div");
  root.append(head("Connectors", { beside: count, actions: newConnectorLink() }), trouble, box);

  const change = (what) => {
    Object.assign(filter, what);
    shownRows = PAGE;
    remember(["connectors"], { q: filter.text, state: filter.state, type: filter.type, sort: filter.sort === "name" ? "" : filter.sort, down: filter.down ? "1" : "" });
    draw();
  };
  const matching = () => fleet.filter((one) => matches(one, filter)).sort(order(filter));
  const drawChips = onChange((counts, state) => swap(chips, chipsOf(counts, state, (value) => change({ state: value }))));
  const drawList = onChange((drawn, names, all) => {
    swap(list, drawn.length ? listOf(drawn, all, filter, chosen, { change, draw, act }) : nothing(fleet.length));
  });
  const drawBar = onChange((names, unseen, all) => swap(bar, names.length + unseen ? bulkBar(names, unseen, all, chosen, draw, () => refresh()) : null));
  const draw = () => {
    if (!fleet) return;
    for (const name of chosen) if (!fleet.some((one) => one.name === name)) chosen.delete(name);
    const rows = matching();
    const names = rows.map((one) => one.name);
    const acted = names.filter((name) => chosen.has(name)).sort();
    count.textContent = rows.length === fleet.length ? plural(fleet.length, "connector") : `${rows.length} of ${plural(fleet.length, "connector")}`;
    drawChips(countStates(fleet), filter.state);
    drawBar(acted, chosen.size - acted.length, acted.length === rows.length);
    drawList(rows.slice(0, shownRows), acted, names, filter.text, filter.sort, filter.down);
    if (rows.length > shownRows) list.append(h("footer", {}, button(`Show ${rows.length - shownRows} more`, { onclick: () => { shownRows += PAGE * 5; draw(); } })));
  };
  const act = (operation) => perform(operation).catch(() => {}).then(() => refresh());
  const refresh = life.poll(
    async () => {
      fleet = await connectors(life.signal);
      trouble.replaceChildren();
      draw();
    },
    EVERY_MS,
    (error) => trouble.replaceChildren(notice("red", error.message)),
  );
}

function matches(one, { text, state, type }) {
  const about = [...seenTexts(one), ...unseenTexts(one).map(([, value]) => value)].join(" ").toLowerCase();
  return (!state || one.state === state) && (!type || one.type === type) && wordsOf(text).every((word) => about.includes(word));
}

const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

/** What each row shows, as far as it is searched. */
const seenTexts = (one) => [one.name, shortClass(one.className), ...one.workers];

/** What is searched without being in each row: pairs of what it is and its value. */
const unseenTexts = ({ className, config }) => [["class", className], ["topics", config.topics], ["topics", config["topics.regex"]], ["topic", config.topic]].filter(([, value]) => value);

/** Why a row was found of which nothing that is shown has these words. */
function foundBy(one, text) {
  const seen = seenTexts(one).join(" ").toLowerCase();
  const missing = wordsOf(text).filter((word) => !seen.includes(word));
  const found = unseenTexts(one).filter(([, value]) => missing.some((word) => value.toLowerCase().includes(word)));
  return found.map(([what, value]) => `${what}: ${value}`).join(", ");
}

function order({ sort, down }) {
  const { value } = COLUMNS.find((column) => column.id === sort) ?? COLUMNS[0];
  const sign = down ? -1 : 1;
  return (a, b) => {
    const [left, right] = [value(a), value(b)];
    return left < right ? -sign : left > right ? sign : a.name.localeCompare(b.name);
  };
}

function countStates(fleet) {
  const counts = {};
  for (const one of fleet) counts[one.state] = (counts[one.state] ?? 0) + 1;
  return counts;
}

function chipsOf(counts, chosen, choose) {
  const shown = Object.keys(STATES).filter((state) => counts[state] || state === chosen);
  return shown.map((state) => {
    const { label, sign } = describe(state);
    const pressed = state === chosen;
    return h(
      "button",
      { type: "button", class: "chip", "aria-pressed": String(pressed), "data-key": `chip ${state}`, onclick: () => choose(pressed ? "" : state) },
      icon(sign), `${label} ${counts[state] ?? 0}`,
    );
  });
}

/** The rows that are `drawn`, of `names` that match. */
function listOf(drawn, names, filter, chosen, { change, draw, act }) {
  const all = names.every((name) => chosen.has(name));
  const tick = h("input", {
    type: "checkbox", "aria-label": "Choose all that match", title: `Choose all ${names.length} that match`, "data-key": "tick all",
    checked: all, indeterminate: !all && names.some((name) => chosen.has(name)),
    onchange: () => { for (const name of names) all ? chosen.delete(name) : chosen.add(name); draw(); },
  });
  const columns = COLUMNS.map((column) => {
    const active = filter.sort === column.id;
    const node = h(
      "button",
      { type: "button", class: "sort", "data-key": `sort ${column.id}`, onclick: () => change({ sort: column.id, down: active && !filter.down }) },
      column.label, active && icon(filter.down ? "down" : "up"),
    );
    return { label: column.label, class: column.class, node, sort: active ? (filter.down ? "descending" : "ascending") : null };
  });
  return table("Connectors", [{ label: "", node: tick, class: "tick" }, ...columns, { label: "Actions", class: "aside", unseen: true }], drawn.map((one) => rowOf(one, foundBy(one, filter.text), chosen, draw, act)));
}

function rowOf(one, found, chosen, draw, act) {
  const { name } = one;
  const tick = h("input", {
    type: "checkbox", "aria-label": `Choose ${name}`, "data-key": `tick ${name}`, checked: chosen.has(name),
    onchange: (event) => { event.target.checked ? chosen.add(name) : chosen.delete(name); draw(); },
  });
  const quick = (label, iconName, operation) =>
    button(`${label} ${name}`, { iconName, iconOnly: true, kind: "plain", key: `${label} ${name}`, operation, onclick: () => act(operation()) });
  const runs = one.status.connector.state !== "PAUSED" && one.status.connector.state !== "STOPPED";
  return h(
    "tr",
    { "data-name": name, class: chosen.has(name) && "chosen" },
    h("td", { class: "tick" }, tick),
    h(
      "td",
      {},
      h("div", { class: "name-cell" }, h("a", { href: link(["connectors", name]), "data-key": `to ${name}` }, name), h("span", { class: "quiet small" }, shortClass(one.className)),
        found && h("span", { class: "quiet small wrap" }, found),
        one.why && h("span", { class: "quiet small cut wrap" }, one.why)),
    ),
    h("td", {}, badge(one.state, one.why)),
    h("td", { class: "aside" }, taskBars(one.status.tasks)),
    h("td", { class: "aside" }, h("span", { class: "check" }, icon(one.type === "sink" ? "sink" : "source"), one.type)),
    h("td", { class: "quiet small worker aside" }, one.workers.map((worker) => h("div", {}, worker))),
    h(
      "td",
      { class: "aside" },
      h("div", { class: "row end" },
        runs ? quick("Pause", "pause", () => operations.pause(name)) : quick("Resume", "play", () => operations.resume(name)),
        quick("Restart", "restart", () => (one.failed ? operations.restartFailed(name) : operations.restart(name)))),
    ),
  );
}

function nothing(total) {
  return total
    ? empty("Nothing matches", "Change the search or the filters.")
    : empty("No connectors yet", h("a", { href: "#/new" }, "Create the first one"), " from a form, or ", h("a", { href: "#/pipelines" }, "plan a pipeline file"), ".");
}

/** `names` are chosen and match, `unseen` is how many are chosen that the filter hides: nothing is done to those. */
function bulkBar(names, unseen, all, chosen, draw, refresh) {
  const more = unseen ? `${unseen} more not shown` : null;
  const run = (verb, make, options = {}) =>
    bulk(verb, names, make, { ...options, left: more && `Those chosen before, ${more} under the present filter, are left as they are.` }).then((ran) => {
      if (ran) for (const name of names) chosen.delete(name);
      draw();
      refresh();
    });
  const make = (label, iconName, operation, options) =>
    button(label, { iconName, small: true, key: `bulk ${label}`, kind: options?.danger ? "danger" : null, disabled: !names.length, changes: true, onclick: () => run(label, operation, options) });
  return h(
    "div",
    { class: "bulk", role: "toolbar", "aria-label": "Actions on the chosen connectors" },
    h("span", {}, h("strong", {}, `${names.length} chosen`), [all && names.length ? "all that match" : null, more].filter(Boolean).map((text) => `, ${text}`)),
    make("Pause", "pause", operations.pause),
    make("Resume", "play", operations.resume),
    make("Stop", "stop", operations.stop),
    make("Restart", "restart", operations.restart),
    make("Restart failed", "restart", operations.restartFailed),
    make("Delete", "trash", operations.remove, { danger: true, offsets: true }),
    button("Choose none", { small: true, iconName: "cross", key: "bulk none", class: "push", onclick: () => { chosen.clear(); draw(); } }),
  );
}
