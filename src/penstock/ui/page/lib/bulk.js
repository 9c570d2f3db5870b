// One operation on several connectors: asked first, then one after the other, each with its outcome.
import { perform } from "./actions.js";
import { confirmed, showDialog } from "./dialogs.js";
import { h } from "./dom.js";
import { plural } from "./format.js";
import { icon } from "./icons.js";
import { announce } from "./notices.js";

/**
 * Ask, then do. `make(name, withOffsets)` gives the operation of one; `left` says what it is not done to. False when the
 * user did not agree.
 */
export async function bulk(verb, names, make, { danger = false, offsets = false, left = null } = {}) {
  let withOffsets = false;
  const all = () => names.map((name) => make(name, withOffsets));
  const agreed = await confirmed(`${verb} ${plural(names.length, "connector")}?`, {
    text: [h("p", { class: "wrap" }, names.join(", ")), left && h("p", { class: "quiet" }, left)].filter(Boolean),
    operations: all,
    agree: `${verb} ${names.length}`,
    danger,
    options: offsets
      ? (refresh) => h("label", { class: "check" }, h("input", { type: "checkbox", onchange: (event) => { withOffsets = event.target.checked; refresh(); } }), "Forget their offsets too")
      : undefined,
  });
  if (!agreed) return false;
  await runAll(verb, names, all());
  return true;
}

async function runAll(verb, names, operations) {
  const lines = names.map((name) => h("li", {}, icon("waiting"), h("span", {}, name)));
  const { node } = showDialog(`${verb}: ${plural(names.length, "connector")}`, h("ul", { class: "results" }, lines));
  let failed = 0;
  for (const [index, operation] of operations.entries()) {
    try {
      await perform(operation, { quiet: true });
      lines[index].replaceChildren(h("span", { class: "green" }, icon("check")), h("span", {}, `${names[index]}: done`));
    } catch (error) {
      failed += 1;
      lines[index].replaceChildren(h("span", { class: "red" }, icon("failed")), h("span", {}, `${names[index]}: ${error.message}`));
    }
  }
  announce(failed ? `${failed} of ${names.length} failed` : `${verb}: all ${names.length} done`);
  if (!failed && node.open) setTimeout(() => node.open && node.close(), 1200);
}
