// One topic: its partitions, and its records as they arrive.
import { viewing } from "../lib/actions.js";
import { get } from "../lib/api.js";
import { h, onChange, swap } from "../lib/dom.js";
import { countOf, observeTopic, topicRate } from "../lib/flow.js";
import { dataText, moment, plural, pretty, rate, whole } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import * as operations from "../lib/operations.js";
import { button, empty, head, notice, panel, search, table } from "../lib/parts.js";
import { Tail } from "../lib/tail.js";

const TAIL_MS = 1000;
const TOPIC_MS = 2500;
const STARTS = [["recent", "the last 100 records"], ["latest", "new records only"], ["earliest", "the earliest record"], ["time", "a time …"]];

export function topicView(root, life, { parts }) {
  const name = parts[1];
  document.title = `${name} – Penstock`;
  viewing(operations.tailTopic(name));
  const facts = h("span", { class: "quiet" });
  const missing = empty("There is no such topic", h("a", { href: "#/topics" }, "All topics"));
  const partitions = h("div");
  const tail = tailPanel(name, life);
  tail.hidden = true;
  root.append(head(name, { crumbs: h("a", { href: "#/topics" }, "Topics"), beside: facts }), tail, partitions);
  const draw = onChange((topic) => swap(partitions, topic ? partitionsPanel(topic) : missing));
  life.poll(
    async () => {
      const topic = await get(["topics", name], { signal: life.signal });
      observeTopic(topic);
      tail.hidden = false;
      facts.textContent = `${plural(countOf(topic), "record")}, ${rate(topicRate(name))} a second`;
      draw(topic);
    },
    TOPIC_MS,
    (error) => {
      if (error.status === 404) {
        tail.hidden = true;
        facts.textContent = "";
        draw(null);
      } else swap(partitions, notice("red", error.message));
    },
  );
}

function tailPanel(name, life) {
  const state = { tail: new Tail(name, "recent", life.signal), following: true, text: "", seen: 0 };
  const list = h("div");
  const count = h("span", { class: "quiet", role: "status" });
  const begin = (start) => {
    Object.assign(state, { tail: new Tail(name, start, life.signal), following: true });
    follow();
  };
  const time = h("input", { type: "datetime-local", "aria-label": "Begin at this time", step: "1", hidden: true, onchange: (event) => event.target.value && begin(String(new Date(event.target.value).getTime())) });
  const start = h(
    "select",
    { "aria-label": "Begin at", onchange: (event) => { time.hidden = event.target.value !== "time"; if (time.hidden) begin(event.target.value); else time.focus(); } },
    STARTS.map(([value, label]) => h("option", { value }, label)),
  );
  const toggle = button("Pause", { iconName: "pause", onclick: () => { state.following = !state.following; follow(); } });
  const follow = () => {
    toggle.replaceChildren(icon(state.following ? "pause" : "play"), state.following ? "Pause" : "Follow");
    toggle.setAttribute("aria-pressed", String(!state.following));
    ask();
  };
  const drawList = onChange((records) => swap(list, records.length ? recordsTable(records) : empty("No records", state.text ? "None of those that were read matches." : "They appear here as they arrive.")));
  const draw = () => {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = state.tail.records.filter((record) => words.every((word) => `${dataText(record.key)} ${dataText(record.value)}`.toLowerCase().includes(word)));
    count.textContent = `${plural(found.length, "record")}${state.tail.dropped ? `, ${whole(state.tail.dropped)} older ones let go` : ""}`;
    drawList([...found].reverse());
  };
  const ask = life.poll(
    async () => {
      if (!state.following) return;
      const asked = state.tail;
      const begins = asked.from === null;
      await asked.ask();
      if (begins && asked === state.tail && !life.over) viewing(operations.tailTopic(name, asked.from, asked.options));
      if (asked === state.tail && !life.over) draw();
      if (asked.more) setTimeout(() => ask(), 0);
    },
    TAIL_MS,
    (error) => swap(list, notice("red", error.message)),
  );
  const box = panel("Records", { tools: count }, h("div", { class: "filters" },
    search("Find in these records", "", (text) => { state.text = text; draw(); }, { id: "search" }),
    h("label", { class: "check" }, "From", start), time, toggle), list);
  box.classList.add("tail");
  return box;
}

function recordsTable(records) {
  const rows = records.map((record) => {
    const id = `${record.partition}:${record.offset}`;
    const text = dataText(record.value);
    return h("tr", { "data-record": id },
      h("td", { class: "nowrap" }, id),
      h("td", { class: "nowrap" }, moment(record.timestamp)),
      h("td", { class: "key" }, h("div", {}, record.key === null ? h("span", { class: "null" }, "null") : dataText(record.key))),
      h("td", { class: "value" }, h("details", { "data-key": id }, h("summary", {}, breakable(text.length > 300 ? `${text.slice(0, 300)} …` : text)),
        h("pre", { class: "code", tabindex: "0", role: "group", "aria-label": `Record ${id}` }, pretty(text),
          record.headers.length ? `\n\nheaders:\n${record.headers.map((one) => `  ${one.key}: ${dataText(one.value)}`).join("\n")}` : null))));
  });
  return table("Records, the newest first", ["Offset", "Time", "Key", "Value"], rows, { key: "tail" });
}

/** Text that may be broken behind the values of JSON, not in them. */
const breakable = (text) => text.split(/(?<=[,;])/).flatMap((part, index) => (index ? [h("wbr"), part] : [part]));

function partitionsPanel(topic) {
  const rows = topic.partitions.map((one) =>
    h("tr", {}, h("th", { scope: "row" }, String(one.partition)), h("td", { class: "number" }, whole(one.start)), h("td", { class: "number" }, whole(one.end)), h("td", { class: "number" }, whole(one.end - one.start))));
  const number = (label) => ({ label, class: "number" });
  const settings = Object.entries(topic.settings).map(([key, value]) => `${key}=${value}`).join(", ");
  return panel("Partitions", { tools: settings ? h("span", { class: "quiet push wrap" }, settings) : null }, table("Partitions", ["Partition", number("Earliest offset"), number("Next offset"), number("Records")], rows));
}
