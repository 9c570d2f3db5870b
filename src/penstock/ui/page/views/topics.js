// All topics: how many records, how fast they grow.
import { viewing } from "../lib/actions.js";
import { get } from "../lib/api.js";
import { h, onChange, swap } from "../lib/dom.js";
import { countOf, observeTopics, topicRate } from "../lib/flow.js";
import { plural, rate, whole } from "../lib/format.js";
import * as operations from "../lib/operations.js";
import { empty, head, notice, panel, search, table } from "../lib/parts.js";
import { link, remember } from "../lib/router.js";

const EVERY_MS = 2500;

export function topicsView(root, life, { query }) {
  document.title = "Topics – Penstock";
  viewing(operations.listTopics());
  let text = query.get("q") ?? "";
  let topics = null;
  const count = h("span", { class: "quiet", role: "status" });
  const list = h("div");
  const find = (value) => {
    text = value;
    remember(["topics"], { q: text });
    draw();
  };
  const box = panel("", {}, h("div", { class: "filters" }, search("Search topics", text, find, { id: "search" })), list);
  box.setAttribute("aria-label", "Topics");
  root.append(head("Topics", { beside: count }), box);
  const drawList = onChange((rows) => swap(list, rows.length ? listOf(rows) : empty(topics.length ? "Nothing matches" : "No topics yet", "The first record of a source makes one.")));
  const draw = () => {
    if (!topics) return;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = topics.filter((topic) => words.every((word) => topic.name.toLowerCase().includes(word)));
    count.textContent = found.length === topics.length ? plural(topics.length, "topic") : `${found.length} of ${plural(topics.length, "topic")}`;
    drawList(found.map((topic) => ({ name: topic.name, partitions: topic.partitions.length, records: countOf(topic), rate: rate(topicRate(topic.name)), settings: topic.settings })));
  };
  life.poll(
    async () => {
      topics = await get(["topics"], { signal: life.signal });
      observeTopics(topics);
      draw();
    },
    EVERY_MS,
    (error) => swap(list, notice("red", error.message)),
  );
}

function listOf(rows) {
  const columns = ["Topic", { label: "Partitions", class: "number" }, { label: "Records", class: "number" }, { label: "Records/s", class: "number" }, "Settings"];
  return table("Topics", columns, rows.map((topic) =>
    h("tr", {},
      h("td", {}, h("a", { href: link(["topics", topic.name]), "data-key": topic.name }, h("strong", {}, topic.name))),
      h("td", { class: "number" }, whole(topic.partitions)),
      h("td", { class: "number" }, whole(topic.records)),
      h("td", { class: "number" }, topic.rate),
      h("td", { class: "quiet small wrap" }, Object.entries(topic.settings).map(([key, value]) => `${key}=${value}`).join(", ") || "–"))));
}
