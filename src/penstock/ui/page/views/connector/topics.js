// The topics a connector has used.
import { perform } from "../../lib/actions.js";
import { get } from "../../lib/api.js";
import { h, onChange, swap } from "../../lib/dom.js";
import { countOf } from "../../lib/flow.js";
import { whole } from "../../lib/format.js";
import * as operations from "../../lib/operations.js";
import { button, empty, notice, panel, table } from "../../lib/parts.js";
import { link } from "../../lib/router.js";

const EVERY_MS = 3000;

export function topicsTab(root, life, { name }) {
  const list = h("div");
  root.append(list);
  const operation = () => operations.resetTopics(name);
  const draw = onChange((rows) => {
    const tools = button("Forget them", { small: true, operation, key: "forget", title: "Begin the list of used topics anew; the topics stay", onclick: () => perform(operation()).catch(() => {}).then(() => refresh()) });
    tools.classList.add("push");
    swap(list, panel("Topics it has used", { tools: rows.length ? tools : null }, rows.length ? listOf(rows) : empty("None yet", "They are listed when records have moved.")));
  });
  const refresh = life.poll(
    async () => {
      const { signal } = life;
      const [used, all] = await Promise.all([get(["connectors", name, "topics"], { signal }), get(["topics"], { signal })]);
      const known = new Map(all.map((topic) => [topic.name, topic]));
      draw((used[name]?.topics ?? []).map((topic) => ({ name: topic, partitions: known.get(topic)?.partitions.length ?? null, records: known.has(topic) ? countOf(known.get(topic)) : null })));
    },
    EVERY_MS,
    (error) => swap(list, notice("red", error.message)),
  );
  return { update: () => {} };
}

function listOf(rows) {
  const columns = ["Topic", { label: "Partitions", class: "number" }, { label: "Records", class: "number" }];
  return table("Topics it has used", columns, rows.map((topic) =>
    h("tr", {},
      h("td", {}, topic.partitions === null ? topic.name : h("a", { href: link(["topics", topic.name]), "data-key": topic.name }, topic.name)),
      h("td", { class: "number" }, topic.partitions === null ? "gone" : whole(topic.partitions)),
      h("td", { class: "number" }, topic.records === null ? "–" : whole(topic.records)))));
}
