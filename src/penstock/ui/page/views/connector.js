// One connector: its state, what can be done to it, and tabs for everything else.
import { perform, viewing } from "../lib/actions.js";
import { get } from "../lib/api.js";
import { confirmed } from "../lib/dialogs.js";
import { h, onChange, swap } from "../lib/dom.js";
import { changesOf, dropDraft, offsetOf } from "../lib/drafts.js";
import { shortClass, withoutModules } from "../lib/format.js";
import { OpenLetters } from "../lib/open_letters.js";
import * as operations from "../lib/operations.js";
import { button, empty, notice } from "../lib/parts.js";
import { Life } from "../lib/polling.js";
import { go, link } from "../lib/router.js";
import { badge, overall } from "../lib/states.js";
import { tabs } from "../lib/tabs.js";
import { forChanging } from "../lib/users.js";
import { configTab } from "./connector/config.js";
import { deadLettersTab } from "./connector/dead_letters.js";
import { lifecycleTab } from "./connector/lifecycle.js";
import { logTab } from "./connector/log.js";
import { offsetsTab } from "./connector/offsets.js";
import { tasksTab } from "./connector/tasks.js";
import { topicsTab } from "./connector/topics.js";

const EVERY_MS = 1500;
const LETTERS_MS = 5000;
const QUEUE = "errors.deadletterqueue.topic.name";
const TABS = [
  { id: "", label: "Tasks and flow", view: tasksTab, asks: operations.showConnector },
  { id: "config", label: "Configuration", view: configTab, asks: operations.showConfig },
  { id: "offsets", label: "Offsets", view: offsetsTab, asks: operations.showOffsets },
  { id: "lifecycle", label: "Lifecycle", view: lifecycleTab, asks: operations.showLifecycle },
  { id: "topics", label: "Topics", view: topicsTab, asks: operations.showTopicsOf },
  { id: "dead-letters", label: "Dead letters", view: deadLettersTab, asks: operations.showDeadLetters },
  { id: "log", label: "Recent log", view: logTab, asks: operations.showLog },
];

export function connectorView(root, life, { parts }) {
  const name = parts[1];
  document.title = `${name} – Penstock`;
  const beside = h("span", { class: "row" });
  const actions = h("div", { class: "actions" });
  const trouble = h("div");
  const bar = h("div");
  const missing = (gone) => [bar, content].forEach((part) => (part.hidden = gone));
  const content = h("div", { class: "stack loose", role: "tabpanel", id: "tabpanel", tabindex: "-1" });
  const crumbs = h("nav", { class: "crumbs", "aria-label": "Breadcrumb" }, h("a", { href: "#/connectors" }, "Connectors"));
  root.append(
    h("div", { class: "head" }, h("div", { class: "titles" }, crumbs, h("div", { class: "row" }, h("h1", { tabindex: "-1" }, name), beside)), actions),
    trouble, bar, content,
  );
  const shared = { name, status: null, info: null, health: null, refresh: () => refresh() };
  let tab = null;
  const counts = {};

  const open = (id) => {
    const chosen = TABS.find((one) => one.id === id) ?? TABS[0];
    if (tab?.id === chosen.id) return;
    tab?.life.end();
    tab = { id: chosen.id, life: new Life() };
    viewing(chosen.asks(name));
    drawTabs();
    content.setAttribute("aria-labelledby", `tab-${chosen.id || "main"}`);
    content.replaceChildren();
    tab.update = chosen.view(content, tab.life, shared).update;
    if (shared.status) tab.update(shared);
  };
  const drawTabs = () => {
    const atTabs = bar.contains(document.activeElement);
    bar.replaceChildren(tabs(`Parts of ${name}`, TABS, tab.id, (next) => go(["connectors", name, ...(next ? [next] : [])]), counts));
    const current = bar.querySelector("[aria-selected=true]");
    current.scrollIntoView({ inline: "nearest", block: "nearest" });
    if (atTabs) current.focus();
  };
  life.onEnd(() => tab?.life.end());
  open(parts[2] ?? "");

  const drawHead = onChange((state, why, failed, target, type, className, version) => {
    swap(beside, badge(state, why), h("span", { class: "tag" }, type), h("span", { class: "tag" }, `${shortClass(className)}${version ? ` ${version}` : ""}`));
    swap(actions, actionsOf(name, failed, target, shared));
  });
  const drawCount = onChange(() => countLetters());
  const refresh = life.poll(
    async () => {
      const { signal } = life;
      [shared.status, shared.info, shared.health] = await Promise.all(
        [["status"], [], ["health"]].map((part) => get(["connectors", name, ...part], { signal })),
      );
      trouble.replaceChildren();
      missing(false);
      const { status, info, health } = shared;
      const failed = [status.connector, ...status.tasks].some((part) => part.state === "FAILED");
      drawHead(overall(status, health), withoutModules(health.reason ?? ""), failed, status.connector.state, status.type, info.config["connector.class"], status.connector.version);
      tab.update(shared);
      drawCount(info.config[QUEUE]);
    },
    EVERY_MS,
    (error) => {
      if (error.status !== 404) trouble.replaceChildren(notice("red", error.message));
      else if (!shared.status) trouble.replaceChildren(empty("There is no such connector", h("a", { href: "#/connectors" }, "All connectors")));
      else trouble.replaceChildren(notice("amber", `${name} is gone.`));
      missing(error.status === 404 && !shared.status);
    },
  );
  const letters = new OpenLetters(name, life.signal);
  const countLetters = life.poll(async () => {
    const open = shared.info?.config[QUEUE] ? await letters.count() : "";
    if (open === (counts["dead-letters"] ?? "")) return;
    counts["dead-letters"] = open;
    drawTabs();
  }, LETTERS_MS);
  return {
    moved: (next) => {
      open(next.parts[2] ?? "");
      return true;
    },
  };
}

function actionsOf(name, failed, target, shared) {
  const act = (operation) => perform(operation).catch(() => {}).then(shared.refresh);
  const plain = (label, iconName, operation, kind) =>
    button(label, { iconName, kind, key: label, operation, onclick: () => act(operation()) });
  const resting = target === "PAUSED" || target === "STOPPED";
  return [
    resting ? plain("Resume", "play", () => operations.resume(name), "primary") : plain("Pause", "pause", () => operations.pause(name)),
    target !== "STOPPED" && plain("Stop", "stop", () => operations.stop(name)),
    failed && plain("Restart failed", "restart", () => operations.restartFailed(name), "primary"),
    target !== "STOPPED" && plain("Restart", "restart", () => operations.restart(name)),
    forChanging(() => h("a", { class: "button", href: link(["new", "copy"], { of: name }) }, "Copy")),
    button("Delete", { iconName: "trash", kind: "danger", key: "Delete", operation: () => operations.remove(name), onclick: () => askDelete(name) }),
  ];
}

async function askDelete(name) {
  let withOffsets = false;
  const operation = () => operations.remove(name, withOffsets);
  const agreed = await confirmed(`Delete ${name}?`, {
    text: h("p", {}, "Its tasks end, its configuration is forgotten, and its deletion hook is called. Topics and their records stay."),
    operations: operation,
    agree: "Delete",
    danger: true,
    options: (refresh) => h("label", { class: "check" }, h("input", { type: "checkbox", onchange: (event) => { withOffsets = event.target.checked; refresh(); } }), "Forget its offsets too: the same name begins anew"),
  });
  if (!agreed) return;
  try {
    await perform(operation());
    dropDraft(changesOf(name));
    dropDraft(offsetOf(name));
    go(["connectors"]);
  } catch {
    // The user was told.
  }
}
