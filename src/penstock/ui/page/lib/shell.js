// The frame around the views: pages, theme, worker, the commands below, shortcuts.
import { done, onActivity } from "./actions.js";
import { address, get } from "./api.js";
import { curlOf, penstockLine, penstockOf } from "./commands.js";
import { showDialog } from "./dialogs.js";
import { h } from "./dom.js";
import { clock } from "./format.js";
import { icon } from "./icons.js";
import { announce } from "./notices.js";
import { commandsOf, copyButton, empty } from "./parts.js";
import { Life } from "./polling.js";
import { go, link } from "./router.js";
import { nextTheme, theme, THEMES } from "./theme.js";
import { learnWhoAsks, mayChange, userName } from "./users.js";

const PAGES = [
  { key: "o", part: "", label: "Overview", sign: "overview" },
  { key: "c", part: "connectors", label: "Connectors", sign: "connectors" },
  { key: "t", part: "topics", label: "Topics", sign: "topics" },
  { key: "p", part: "pipelines", label: "Pipelines", sign: "pipelines" },
  { key: "w", part: "workers", label: "Workers", sign: "workers" },
];
const SHORTCUTS = [
  ["?", "This list"],
  ["/", "Search in the view"],
  ["g then o", "Overview"],
  ["g then c", "Connectors"],
  ["g then t", "Topics"],
  ["g then p", "Pipelines"],
  ["g then w", "Workers"],
  ["n", "New connector"],
  ["h", "What was done, with its commands"],
  ["Esc", "Close a dialog"],
];

/** Build the frame once. */
export function buildShell() {
  document.getElementById("nav").append(
    ...PAGES.map((page) =>
      h("a", { href: page.part ? link([page.part]) : "#/", "data-part": page.part }, icon(page.sign), h("span", {}, page.label)),
    ),
    ...(mayChange() ? [h("a", { href: "#/new", "data-part": "new" }, icon("plus"), h("span", {}, "New connector"))] : []),
  );
  const facts = h("div", { class: "facts" });
  document.getElementById("side-end").append(
    themeButton(),
    h("button", { type: "button", class: "side-button keys", onclick: showShortcuts }, icon("keyboard"), h("span", {}, "Shortcuts")),
    facts,
  );
  document.getElementById("skip").addEventListener("click", () => document.getElementById("main").focus());
  const drawStrip = buildStrip(document.getElementById("strip"));
  listenToKeys();
  watchWorker(facts, drawStrip);
}

/** Mark the page that is shown. */
export function markPage(part) {
  for (const anchor of document.querySelectorAll("#nav a")) {
    if (anchor.dataset.part === part) anchor.setAttribute("aria-current", "page");
    else anchor.removeAttribute("aria-current");
  }
}

function themeButton() {
  const label = h("span");
  const node = h("button", { type: "button", class: "side-button", onclick: () => { nextTheme(); draw(); announce(label.textContent); } });
  const draw = () => {
    const { label: text, sign } = THEMES[theme()];
    label.textContent = text;
    node.replaceChildren(icon(sign), label);
    node.title = "Switch between the theme of the system, light and dark";
  };
  draw();
  return node;
}

function buildStrip(strip) {
  const state = { view: null, last: null, preview: null, told: "" };
  const code = h("code", { id: "command" });
  const told = h("span", { class: "told", id: "command-outcome" });
  let form = "penstock";
  const shown = () => state.preview ?? state.last ?? state.view;
  const text = () => {
    const operation = shown();
    if (!operation) return "";
    return (form === "penstock" && penstockOf(operation)) || curlOf(operation);
  };
  const draw = () => {
    code.textContent = (form === "penstock" && shown() && penstockLine(shown())) || text();
    code.title = text();
    told.textContent = state.preview ? "would run" : state.last ? state.told : "";
  };
  const toggle = h("button", { type: "button", class: "button small", onclick: () => { form = form === "penstock" ? "curl" : "penstock"; label(); draw(); } });
  const label = () => {
    toggle.textContent = form;
    toggle.setAttribute("aria-label", `Commands are shown for ${form}; switch`);
  };
  label();
  strip.append(
    h("div", { class: "command" }, h("span", { class: "mark", "aria-hidden": "true" }, "$"), code),
    told,
    toggle,
    copyButton("command", text),
    h("button", { type: "button", class: "button small", "aria-label": "History", onclick: showHistory }, icon("history"), h("span", {}, "History")),
  );
  onActivity((kind, operation, error) => {
    if (kind === "preview") state.preview = operation;
    else if (kind === "view") [state.view, state.last, state.preview] = [operation, null, null];
    else [state.last, state.told] = [operation, error ? "failed" : "done"];
    draw();
  });
  return draw;
}

function showHistory() {
  const entries = done().map(({ operation, at, error }) =>
    h(
      "li",
      {},
      h("div", { class: "row" }, icon(error ? "failed" : "check"), h("strong", {}, operation.label), h("span", { class: "quiet push" }, `${error ? "failed" : "done"} at ${clock(at)}`)),
      error && h("div", { class: "quiet wrap" }, error),
      commandsOf(operation),
    ),
  );
  showDialog("Done on this page", entries.length ? h("ul", { class: "history" }, entries) : empty("Nothing yet", "What you do here is listed with the commands that do the same."));
}

function showShortcuts() {
  const keys = (text) => text.split(" then ").flatMap((key, index) => [index ? " then " : null, h("kbd", {}, key)]);
  showDialog("Keyboard shortcuts", h("dl", { class: "shortcuts" }, SHORTCUTS.flatMap(([key, meaning]) => [h("dt", {}, keys(key)), h("dd", {}, meaning)])));
}

function listenToKeys() {
  let waiting = false;
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const jump = waiting && PAGES.find((page) => page.key === event.key);
    waiting = event.key === "g";
    if (jump) go(jump.part ? [jump.part] : []);
    else if (event.key === "?") showShortcuts();
    else if (event.key === "n" && mayChange()) go(["new"]);
    else if (event.key === "h") showHistory();
    else if (event.key === "/") document.querySelector("main input[type=search]")?.focus();
    else return;
    event.preventDefault();
  });
}

/** Who is signed in, where the worker tells users apart. */
function whoAsks() {
  if (userName() === null) return [];
  return [h("strong", { id: "user" }, userName()), mayChange() ? ", admin" : ", may only read", h("br")];
}

function watchWorker(facts, drawStrip) {
  const banner = document.getElementById("banner");
  const life = new Life();
  let version = null;
  const show = (state) =>
    facts.replaceChildren(...whoAsks(), h("strong", {}, `Worker ${state}`), h("br"), address.replace(/^https?:\/\//, ""), ...(version ? [h("br"), `version ${version}`] : []));
  life.poll(
    async () => {
      ({ version } = await get([]));
      if (await learnWhoAsks()) drawStrip();
      const health = await get(["health"]).catch((error) => {
        if (!error.status) throw error;
        return { status: "starting", message: error.message };
      });
      banner.hidden = health.status === "healthy";
      banner.textContent = banner.hidden ? "" : health.message;
      show(health.status);
    },
    5000,
    (error) => {
      show(error.status ? `answers ${error.status}` : "not reached");
      banner.hidden = false;
      banner.textContent = `${error.message} What is shown may be old; trying again.`;
    },
  );
}
