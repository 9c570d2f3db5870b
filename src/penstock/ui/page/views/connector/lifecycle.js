// What lifecycle hooks have done for a connector, and have to do.
import { perform } from "../../lib/actions.js";
import { get } from "../../lib/api.js";
import { configTable, declaredSecrets } from "../../lib/config_table.js";
import { confirmed } from "../../lib/dialogs.js";
import { h, onChange, swap } from "../../lib/dom.js";
import { ago, moment, plural, reason } from "../../lib/format.js";
import * as operations from "../../lib/operations.js";
import { button, notice, panel, table } from "../../lib/parts.js";

const EVERY_MS = 2000;

export function lifecycleTab(root, life, { name }) {
  const area = h("div", { class: "stack loose" });
  root.append(area);
  const draw = onChange((found, secrets) => swap(area, hooksPanel(found), cleanupsPanel(found.cleanups, () => refresh()), activePanel(found.active, new Set(secrets))));
  const refresh = life.poll(
    async () => {
      const found = await get(["connectors", name, "lifecycle"], { signal: life.signal });
      draw(found, found.active ? [...(await declaredSecrets(found.active["connector.class"]))] : []);
    },
    EVERY_MS,
    (error) => swap(area, notice("red", error.message)),
  );
  return { update: () => {} };
}

function hooksPanel({ pending, next_hook: next, active, applied }) {
  const facts = [];
  if (pending?.error) {
    facts.push(notice("red", h("strong", {}, pending.hook), ` has failed ${plural(pending.tries, "time")} since ${moment(pending.since)}: ${reason(pending.error)}`));
    facts.push(h("pre", { class: "code trace", tabindex: "0", role: "group", "aria-label": `Trace of ${pending.hook}` }, pending.error));
  } else if (pending) {
    facts.push(notice("blue", h("strong", {}, pending.hook), ` is being called, since ${moment(pending.since)}.`));
  }
  facts.push(
    h(
      "dl",
      { class: "facts-list" },
      h("dt", {}, "Next hook"), h("dd", {}, next ? [h("code", {}, next), " at the next start"] : "None is due: what runs is what was configured."),
      h("dt", {}, "Newest configuration"), h("dd", {}, applied ? "In force: the tasks were made from it." : "Not in force yet: the tasks were made from an older one, or there are none before the next start."),
      h("dt", {}, "Active configuration"), h("dd", {}, active ? "The one below; hooks were called for it." : "None: it has no hooks, or was never started."),
    ),
  );
  return panel("Lifecycle hooks", {}, h("div", { class: "body stack" }, facts));
}

function cleanupsPanel(cleanups, refresh) {
  return cleanups.length ? cleanupsTable(cleanups, refresh, "Clean-ups owed under this name") : null;
}

/** Clean-ups in a panel, each with a way to give it up. */
export function cleanupsTable(cleanups, refresh, title) {
  const rows = cleanups.map((one) => {
    const operation = () => operations.giveUpCleanup(one.id);
    const giveUp = button("Give up", {
      small: true, kind: "danger", key: `give up ${one.id}`, operation,
      onclick: async () => {
        const text = h("p", {}, `What ${one.connector} made outside stays there: you have to remove it yourself.`);
        if (await confirmed("Give up this clean-up?", { text, operations: operation, agree: "Give up", danger: true })) await perform(operation()).catch(() => {});
        refresh();
      },
    });
    return h("tr", {},
      h("td", {}, one.connector), h("td", {}, ago(one.since)), h("td", { class: "number" }, String(one.tries)),
      h("td", { class: "wrap" }, one.error ? reason(one.error) : "–"), h("td", {}, one.next_try ? moment(one.next_try) : "now"), h("td", {}, giveUp));
  });
  return panel(title, {}, table(title, ["Connector", "Since", { label: "Tries", class: "number" }, "Last error", "Next try", { label: "Actions", unseen: true }], rows));
}

function activePanel(active, secrets) {
  if (!active) return null;
  return panel("Active configuration", {}, configTable("Active configuration", active, secrets));
}
