// Committed offsets: looked at while it runs, edited and reset while it is stopped.
import { perform } from "../../lib/actions.js";
import { get } from "../../lib/api.js";
import { confirmed } from "../../lib/dialogs.js";
import { h, onChange, swap, uniqueId } from "../../lib/dom.js";
import { draftAt, dropDraft, keepDraft, offsetOf } from "../../lib/drafts.js";
import { compactText, parse, readableText } from "../../lib/exact_json.js";
import { plural, whole } from "../../lib/format.js";
import { toast } from "../../lib/notices.js";
import { doubtsOf } from "../../lib/offset_doubts.js";
import * as operations from "../../lib/operations.js";
import { button, empty, notice, panel, table } from "../../lib/parts.js";

const EVERY_MS = 2500;

export function offsetsTab(root, life, shared) {
  const { name } = shared;
  const hint = h("div");
  const list = h("div");
  const form = h("div");
  root.append(hint, list, form);
  let entries = null;
  let stopped = null;
  const drawHint = onChange((state) => swap(hint, hintOf(state, name, shared)));
  const drawList = onChange((found, ends, editable) => swap(list, listPanel(found, ends, editable, edit, resetAll)));
  const place = offsetOf(name);
  const close = () => {
    dropDraft(place);
    swap(form);
  };
  const edit = (entry, typed) => swap(form, editForm({ entry, typed, entries, place }, name, life, () => { close(); refresh(); }, close));
  life.onEnd(() => draftAt(place) && toast(`The offset of ${name} that you were setting is kept while this page is open.`));
  const resetAll = async () => {
    const operation = () => operations.resetOffsets(name);
    const text = h("p", {}, "It forgets where it was and begins anew: a source reads everything again, a sink its topics from their start.");
    if (await confirmed(`Reset all offsets of ${name}?`, { text, operations: operation, agree: "Reset", danger: true })) await perform(operation()).catch(() => {});
    refresh();
  };
  const draw = (ends) => {
    if (entries && stopped !== null) drawList(entries, ends, stopped);
  };
  let lastEnds = {};
  const refresh = life.poll(
    async () => {
      entries = (await get(["connectors", name, "offsets"], { signal: life.signal })).offsets;
      lastEnds = await endsOf(entries, life.signal);
      draw(lastEnds);
    },
    EVERY_MS,
    (error) => swap(hint, notice("red", error.message)),
  );
  return {
    update: ({ status }) => {
      const now = status.connector.state === "STOPPED";
      drawHint(status.connector.state);
      if (stopped !== now) {
        stopped = now;
        const draft = draftAt(place);
        if (!now) swap(form);
        else if (draft) edit(draft.entry, draft.typed);
        draw(lastEnds);
      }
    },
  };
}

/** Ends of the partitions that a sink reads, as `topic-partition`. */
async function endsOf(entries, signal) {
  if (!entries.some((one) => typeof one.partition?.kafka_topic === "string")) return {};
  const topics = await get(["topics"], { signal });
  return Object.fromEntries(topics.flatMap((topic) => topic.partitions.map((one) => [`${topic.name}-${one.partition}`, one.end])));
}

function hintOf(state, name, shared) {
  if (state === "STOPPED") return notice("green", "It is stopped: offsets can be changed. Resume it when you are done.");
  const operation = () => operations.stop(name);
  const stop = button("Stop it", { small: true, key: "stop it", operation, onclick: () => perform(operation()).catch(() => {}).then(shared.refresh) });
  return notice("blue", "Offsets can be changed while it is stopped. ", stop);
}

function listPanel(entries, ends, editable, edit, resetAll) {
  const tools = h("div", { class: "actions push" },
    button("Add", { small: true, iconName: "plus", key: "add", changes: true, disabled: !editable, onclick: () => edit(null) }),
    button("Reset all", { small: true, kind: "danger", key: "reset all", changes: true, disabled: !editable || !entries.length, onclick: resetAll }));
  if (!entries.length) return panel("Offsets", { tools }, empty("No offsets yet", "They are written with the first batch of records."));
  const sink = Object.keys(ends).length > 0;
  const columns = sink
    ? ["Topic", { label: "Partition", class: "number" }, { label: "Offset", class: "number" }, { label: "Lag", class: "number" }]
    : ["Source partition", "Source offset"];
  const rows = entries.map((entry) => {
    const change = button("Edit", { small: true, iconName: "edit", key: `edit ${compactText(entry.partition)}`, changes: true, disabled: !editable, "aria-label": `Edit the offset of ${compactText(entry.partition)}`, onclick: () => edit(entry) });
    return h("tr", {}, sink ? sinkCells(entry, ends) : [h("td", { class: "mono wrap" }, compactText(entry.partition)), h("td", { class: "mono wrap" }, compactText(entry.offset))], h("td", { class: "end" }, change));
  });
  return panel("Offsets", { tools }, table("Offsets", [...columns, { label: "Actions", unseen: true }], rows), h("footer", {}, plural(entries.length, "partition")));
}

function sinkCells({ partition, offset }, ends) {
  const end = ends[`${partition.kafka_topic}-${partition.kafka_partition}`];
  return [
    h("td", {}, partition.kafka_topic),
    h("td", { class: "number" }, String(partition.kafka_partition)),
    h("td", { class: "number" }, whole(offset.kafka_offset)),
    h("td", { class: "number" }, end === undefined ? "–" : end < offset.kafka_offset ? "beyond the end" : whole(end - offset.kafka_offset)),
  ];
}

/** `typed` are the texts of a form that was left before it was saved. */
function editForm({ entry, typed, entries, place }, name, life, finished, cancelled) {
  const shape = entry ?? { partition: entries?.[0]?.partition ?? {}, offset: entries?.[0]?.offset ?? {} };
  const keep = () => keepDraft(place, { entry, typed: { partition: partition.text(), offset: offset.text() } });
  const partition = jsonField("Partition", typed?.partition ?? readableText(shape.partition), keep, entry !== null);
  const offset = jsonField("New offset (null forgets it)", typed?.offset ?? readableText(shape.offset), keep);
  const review = h("button", { type: "submit", class: "button primary" }, "Review");
  const save = async (event) => {
    event.preventDefault();
    if (review.disabled || !partition.check() || !offset.check()) return;
    const wanted = { partition: partition.value(), offset: offset.value() };
    const doubts = await doubted(wanted);
    if (!doubts || life.over || !made.isConnected) return;
    const { problem, ends } = doubts;
    const change = () => operations.setOffsets(name, [wanted], Boolean(problem));
    const shown = h("table", { class: "diff" }, h("caption", { class: "unseen" }, "What changes"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Now"), h("th", { scope: "col" }, "Then"))),
      h("tbody", {}, h("tr", {}, h("td", { class: "removed" }, entry ? compactText(entry.offset) : "–"), h("td", { class: "added" }, compactText(wanted.offset)))));
    const agreed = await confirmed(`Set the offset of ${compactText(wanted.partition)}?`, {
      text: [shown, ends && h("p", { class: "quiet" }, ends), problem && notice("red", problem, " A sink that stands where nothing is begins anew, where auto.offset.reset says.")].filter(Boolean),
      operations: change,
      agree: "Set offset",
      danger: Boolean(problem),
      insist: problem && "Set it all the same",
    });
    if (!agreed) return;
    try {
      await perform(change());
      finished();
    } catch (error) {
      offset.fail(error.message);
    }
  };
  /** What speaks against it; null when that could not be asked, which the form then says. */
  const doubted = async (wanted) => {
    review.disabled = true;
    try {
      const config = await get(["connectors", name, "config"], { signal: life.signal });
      return await doubtsOf(wanted, config, life.signal);
    } catch (error) {
      offset.fail(error.message);
      return null;
    } finally {
      review.disabled = false;
    }
  };
  const made = panel(entry ? "Edit an offset" : "Add an offset", {},
    h("form", { class: "body stack", onsubmit: save, novalidate: true }, partition.node, offset.node,
      h("div", { class: "row" }, review, button("Cancel", { onclick: cancelled }))));
  requestAnimationFrame(() => offset.focus());
  return made;
}

function jsonField(label, text, oninput, readonly = false) {
  const id = uniqueId("json");
  const error = h("div", { class: "error", id: `${id}-error`, role: "alert" });
  const area = h("textarea", { id, rows: "4", readonly, spellcheck: "false", "aria-describedby": `${id}-error`, oninput, value: text });
  const fail = (message) => {
    error.textContent = message;
    area.setAttribute("aria-invalid", message ? "true" : "false");
  };
  return {
    node: h("div", { class: "field" }, h("div", { class: "about" }, h("label", { for: id }, label)), h("div", {}, area, error)),
    text: () => area.value,
    value: () => parse(area.value),
    focus: () => area.focus(),
    fail,
    check: () => {
      try {
        const found = parse(area.value);
        const fits = found === null || (typeof found === "object" && !Array.isArray(found));
        fail(fits ? "" : "This must be an object, or null.");
        return fits;
      } catch (problem) {
        fail(`This is not JSON: ${problem.message}`);
        return false;
      }
    },
  };
}
