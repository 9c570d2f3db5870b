// From the address to a view.
import { h } from "./lib/dom.js";
import { notice } from "./lib/parts.js";
import { Life } from "./lib/polling.js";
import { place } from "./lib/router.js";
import { buildShell, markPage } from "./lib/shell.js";
import { learnWhoAsks } from "./lib/users.js";
import { connectorView } from "./views/connector.js";
import { connectorsView } from "./views/connectors.js";
import { createView } from "./views/create.js";
import { overviewView } from "./views/overview.js";
import { pipelinesView } from "./views/pipelines.js";
import { topicView } from "./views/topic.js";
import { topicsView } from "./views/topics.js";
import { workersView } from "./views/workers.js";

let life = null;
let shown = null;

function viewOf([page, name]) {
  if (!page) return overviewView;
  if (page === "connectors") return name === undefined ? connectorsView : connectorView;
  if (page === "topics") return name === undefined ? topicsView : topicView;
  return { new: createView, pipelines: pipelinesView, workers: workersView }[page] ?? missingView;
}

function missingView(root) {
  document.title = "Not found – Penstock";
  root.append(h("h1", { tabindex: "-1" }, "There is no such page"), notice("amber", "Choose another one at the left."));
}

/** A view that is shown already may take a new place itself: it returns `moved(place)` for that. */
function show() {
  const now = place();
  const identity = JSON.stringify(now.parts.slice(0, 2));
  if (shown?.identity === identity && shown.moved?.(now)) return;
  life?.end();
  life = new Life();
  const main = document.getElementById("main");
  const root = h("div", { class: "view" });
  main.replaceChildren(root);
  main.scrollTop = 0;
  markPage(now.parts[0] ?? "");
  const first = shown === null;
  shown = { identity, ...viewOf(now.parts)(root, life, now) };
  if (!first) root.querySelector("h1")?.focus({ preventScroll: true });
}

// What a user may not do is not offered, from the first view on. A worker that cannot be reached is told by the frame.
await learnWhoAsks().catch(() => {});
buildShell();
window.addEventListener("hashchange", show);
show();
