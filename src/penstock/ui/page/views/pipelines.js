// Pipeline files: what was declared, what applying a file would do, and doing it.
import { perform, viewing } from "../lib/actions.js";
import { call, get } from "../lib/api.js";
import { confirmed } from "../lib/dialogs.js";
import { h, onChange, swap } from "../lib/dom.js";
import { plural } from "../lib/format.js";
import { announce, toast } from "../lib/notices.js";
import * as operations from "../lib/operations.js";
import { button, commandsOf, empty, head, notice, panel, table } from "../lib/parts.js";
import { planView } from "../lib/plan_view.js";
import { link } from "../lib/router.js";

const EVERY_MS = 4000;
const SOURCE = "pipelines";
const EXAMPLE = `pipelines:
  - id: orders
    status: running
    connectors:
      - name: orders-in
        class: Generator
        config:
          topic: orders
          rate: 5
`;

export function pipelinesView(root, life) {
  document.title = "Pipelines – Penstock";
  viewing(operations.listPipelines());
  const declared = h("div");
  root.append(head("Pipelines"), planner(life, () => refresh()), declared);
  const draw = onChange((found) => swap(declared, declaredPanel(found)));
  const refresh = life.poll(
    async () => draw(await get(["pipelines"], { signal: life.signal })),
    EVERY_MS,
    (error) => swap(declared, notice("red", error.message)),
  );
}

function planner(life, changed) {
  const file = h("input", { id: "file-name", value: `${SOURCE}/orders.yaml`, spellcheck: "false", autocomplete: "off", oninput: () => forget() });
  const area = h("textarea", { id: "file-text", rows: "14", spellcheck: "false", placeholder: EXAMPLE, oninput: () => forget() });
  const adopt = h("input", { type: "checkbox", onchange: () => forget() });
  const shown = h("div", { class: "stack loose", "aria-live": "polite" });
  let picked = null;
  const forget = () => swap(shown);
  const pipeline = () => ({ file: file.value.trim() || `${SOURCE}/pipeline.yaml`, text: area.value, onDisk: area.value === picked });
  const picker = h("input", {
    type: "file", class: "unseen", id: "file-pick", accept: ".yaml,.yml,.json", tabindex: "-1", "aria-hidden": "true",
    onchange: async () => {
      const [found] = picker.files;
      if (!found) return;
      file.value = `${SOURCE}/${found.name}`;
      area.value = await found.text();
      picked = area.value;
      picker.value = "";
      makePlan();
    },
  });
  const makePlan = async () => {
    if (!area.value) area.value = EXAMPLE;
    const operation = operations.plan(pipeline(), adopt.checked);
    viewing(operation);
    swap(shown, notice("blue", "Planning …"));
    try {
      const plan = await call(operation.method, operation.path, { body: operation.body, signal: life.signal });
      swap(shown, planPanel(plan, operation, () => applyPlan(plan)));
      announce(plan.hash === null ? `The file has ${plural(plan.problems.length, "problem")}` : `The plan has ${plural(plan.changes.length, "change")}`);
    } catch (error) {
      if (!life.over) swap(shown, notice("red", error.message));
    }
  };
  const applyPlan = async (plan) => {
    const operation = operations.apply(pipeline(), adopt.checked, plan.hash);
    const agreed = await confirmed(`Apply ${plural(plan.changes.length, "change")}?`, {
      text: h("ul", { class: "stack" }, plan.changes.map((change) => h("li", {}, change.summary))), operations: () => operation, agree: "Apply",
      danger: plan.changes.some((change) => change.action === "delete"),
    });
    if (!agreed) return;
    try {
      const done = await perform(operation, { quiet: true });
      toast(`${plural(done.changes.length, "change")} applied`);
      swap(shown, notice("green", `${plural(done.changes.length, "change")} applied.`));
    } catch (error) {
      swap(shown, notice("red", error.message), button("Plan again", { changes: true, onclick: makePlan }));
    }
    changed();
  };
  return h("div", { class: "columns" },
    panel("Plan a file", { tools: h("div", { class: "push" }, picker, button("Choose a file …", { small: true, iconName: "pipelines", changes: true, onclick: () => picker.click() })) },
      h("div", { class: "body stack" },
        h("p", { class: "quiet" }, "Paste a pipeline file in YAML or JSON, or choose one. Nothing is done before you have seen the plan."),
        h("div", { class: "stack tight" }, h("label", { for: "file-name" }, "Name of the file on the worker, as source/file"), file),
        h("div", { class: "stack tight" }, h("label", { for: "file-text" }, "Its text"), area),
        h("label", { class: "check" }, adopt, "Let it take over connectors that were made by the API"),
        h("div", { class: "row" }, button("Plan", { kind: "primary", changes: true, onclick: makePlan })))),
    shown);
}

function planPanel(plan, operation, apply) {
  const ready = plan.hash !== null && plan.changes.length > 0;
  const tools = h("div", { class: "actions push" }, plan.hash && h("code", { class: "tag" }, plan.hash), button("Apply", { kind: "primary", small: true, changes: true, disabled: !ready, onclick: apply }));
  return panel("The plan", { tools }, planView(plan), h("div", { class: "body" }, h("details", {}, h("summary", { class: "quiet" }, "The same from a terminal"), commandsOf(operation))));
}

function declaredPanel({ pipelines, problems }) {
  const rows = pipelines.flatMap((pipeline) =>
    pipeline.connectors.map((one) =>
      h("tr", {},
        h("td", {}, h("strong", {}, pipeline.id), pipeline.description && h("div", { class: "quiet small" }, pipeline.description)),
        h("td", {}, h("a", { href: link(["connectors", one.name]), "data-key": one.name }, one.name)),
        h("td", {}, one.state),
        h("td", {}, one.drift.length ? h("span", { class: "tag drift" }, `drifted: ${one.drift.join(", ")}`) : "as declared"),
        h("td", { class: "quiet small wrap" }, pipeline.file || "–"),
        h("td", {}, pipeline.origin === "worker" ? "this worker" : "the API"))));
  return h("div", { class: "stack loose" },
    problems.map((problem) => notice(problem.severity === "error" ? "red" : "amber", `${problem.file}: ${problem.message} ${problem.suggestion}`)),
    panel("Declared", {}, rows.length
      ? table("Declared pipelines", ["Pipeline", "Connector", "Wanted state", "Drift", "File", "Applied by"], rows)
      : empty("No pipelines", "Connectors that a file declares are listed here, with what has drifted from it.")));
}
