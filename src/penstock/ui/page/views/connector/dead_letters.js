// Records that failed: why, what was in them, and once more through the connector, as they are or mended.
import { perform, viewing } from "../../lib/actions.js";
import { get } from "../../lib/api.js";
import { confirmed } from "../../lib/dialogs.js";
import { h, onChange, swap, uniqueId } from "../../lib/dom.js";
import { dataText, moment, plural, pretty } from "../../lib/format.js";
import { icon } from "../../lib/icons.js";
import * as operations from "../../lib/operations.js";
import { toast } from "../../lib/notices.js";
import { button, empty, notice, panel, table } from "../../lib/parts.js";
import { link } from "../../lib/router.js";

const EVERY_MS = 4000;
const LIMIT = 100;

export function deadLettersTab(root, life, { name }) {
  const area = h("div", { class: "stack loose" });
  root.append(area);
  const chosen = new Set();
  const opened = new Set();
  const pages = [undefined];
  let found = null;
  const replay = async (operation) => {
    const agreed = await confirmed(`${operation.label}?`, {
      text: h("p", {}, "They go through the connector's converters and transforms again, in a batch of their own. What fails again becomes a dead letter again."),
      operations: () => operation, agree: "Replay",
    });
    if (!agreed) return;
    try {
      const outcome = await perform(operation, { quiet: true });
      chosen.clear();
      toast(`${plural(outcome.replayed, "dead letter")} replayed${outcome.failed ? `, ${outcome.failed} failed again` : ""}`, outcome.failed > 0);
    } catch (error) {
      toast(`${operation.label} failed. ${error.message}`, true);
    }
    refresh();
  };
  const turn = (step) => {
    if (step > 0) pages.push(found.next);
    else pages.pop();
    viewing(operations.showDeadLetters(name, pages.at(-1)));
    refresh();
  };
  const drawAll = onChange((page, picked, shown, number) => swap(area, lettersPanel(name, page, { chosen, opened, replay, turn, number, redraw: draw })));
  const draw = () => drawAll(found, [...chosen], [...opened], pages.length);
  const refresh = life.poll(
    async () => {
      found = await get(["connectors", name, "dead-letters"], { query: { limit: LIMIT, after: pages.at(-1) }, signal: life.signal });
      draw();
    },
    EVERY_MS,
    (error) => swap(area, error.status === 400 || error.status === 404 ? panel("Dead letters", {}, empty("No dead letter queue", error.message)) : notice("red", error.message)),
  );
  return { update: () => {} };
}

function lettersPanel(name, page, view) {
  const { chosen, replay, turn, number } = view;
  const letters = page.dead_letters;
  const open = letters.filter((letter) => !letter.replayed);
  const tools = h("div", { class: "actions push" },
    button(`Replay ${chosen.size || ""} chosen`.replace("  ", " "), { small: true, key: "replay chosen", disabled: !chosen.size, operation: () => operations.replaySome(name, [...chosen]), onclick: () => replay(operations.replaySome(name, [...chosen])) }),
    button("Replay all", { small: true, iconName: "restart", key: "replay all", disabled: !open.length, operation: () => operations.replayAll(name), onclick: () => replay(operations.replayAll(name)) }));
  const where = h("span", { class: "quiet" }, "in topic ", h("a", { href: link(["topics", page.topic]) }, page.topic));
  if (!letters.length) return panel("Dead letters", { tools: where }, empty("None", "No record of this connector has failed."));
  const rows = letters.flatMap((letter) => letterRows(name, letter, view));
  const foot = h("footer", {}, `Page ${number}`, h("span", { class: "push" }),
    button("Back", { small: true, disabled: number === 1, onclick: () => turn(-1) }), button("Next", { small: true, disabled: !page.next, onclick: () => turn(1) }));
  return panel("Dead letters", { tools: [where, tools] },
    table("Dead letters", [{ label: "Choose", unseen: true, class: "tick" }, "Id", "Failed at", "Record", "Why"], rows, { className: "letters" }), foot);
}

/** A letter, and what is in it when it is opened. */
function letterRows(name, letter, { chosen, opened, replay, redraw }) {
  const { topic, partition, offset } = letter.original;
  const change = (set, on) => { on ? set.add(letter.id) : set.delete(letter.id); redraw(); };
  const open = opened.has(letter.id);
  const tick = h("input", {
    type: "checkbox", "aria-label": `Choose ${letter.id}`, "data-key": `tick ${letter.id}`, checked: chosen.has(letter.id),
    onchange: (event) => change(chosen, event.target.checked),
  });
  const why = h("button",
    { type: "button", class: "opener", "aria-expanded": String(open), "data-key": `why ${letter.id}`, onclick: () => change(opened, !open) },
    icon(open ? "opened" : "closed"), h("span", {}, letter.error.message ?? letter.error.exception ?? "Unknown"));
  const row = h("tr", { "data-letter": letter.id, class: chosen.has(letter.id) && "chosen" },
    h("td", { class: "tick" }, tick),
    h("td", { class: "mono nowrap" }, letter.id, letter.replayed ? [" ", h("span", { class: "tag" }, "replayed")] : null),
    h("td", { class: "nowrap" }, moment(letter.timestamp)),
    h("td", { class: "nowrap" }, topic === null ? "–" : `${topic} ${partition}:${offset}`),
    h("td", { class: "wrap" }, why));
  return open ? [row, h("tr", { "data-opened": letter.id }, h("td", { colspan: "5", class: "wrap" }, letterDetails(name, letter, replay)))] : [row];
}

function letterDetails(name, letter, replay) {
  const { error } = letter;
  const id = uniqueId("value");
  const value = letter.value?.text ?? null;
  const area = h("textarea", { id, rows: "5", spellcheck: "false", "data-draft": letter.id, "data-key": `value ${letter.id}`, value: value ?? "" });
  const mend = () => replay(operations.replayMended(name, letter.id, area.value));
  const part = (label, text) => h("div", {}, h("dt", {}, label), h("dd", { class: "mono" }, text ?? "–"));
  return h("div", { class: "letter-edit" },
    h("dl", { class: "facts-row" }, part("Stage", error.stage), part("Class", error.class_name), part("Exception", error.exception), part("Task", letter.task === null ? null : String(letter.task)), part("Key", dataText(letter.key)),
      part("Headers", letter.headers.length ? letter.headers.map((one) => `${one.key}: ${dataText(one.value)}`).join("\n") : null)),
    value === null
      ? h("pre", { class: "code", tabindex: "0", role: "group", "aria-label": "Value" }, pretty(dataText(letter.value)))
      : [h("label", { for: id }, "Value: mend it and replay"), area, h("div", { class: "row" }, button("Replay with this value", { small: true, iconName: "restart", changes: true, onclick: mend }))],
    error.trace && h("details", { "data-key": `trace ${letter.id}` }, h("summary", { class: "quiet" }, "Trace"), h("pre", { class: "code trace", tabindex: "0", role: "group", "aria-label": `Trace of ${letter.id}` }, error.trace)));
}
