// A new connector: choose a plugin, fill in the form that its definition makes, create.
import { perform, viewing } from "../lib/actions.js";
import { get } from "../lib/api.js";
import { configEditor } from "../lib/config_editor.js";
import { stateOf } from "../lib/config_form.js";
import { changes } from "../lib/diff.js";
import { h, swap } from "../lib/dom.js";
import { draftAt, dropDraft, keepDraft, newConnector } from "../lib/drafts.js";
import { shortClass } from "../lib/format.js";
import { icon } from "../lib/icons.js";
import { toast } from "../lib/notices.js";
import * as operations from "../lib/operations.js";
import { button, commandsOf, empty, head, notice, panel, search } from "../lib/parts.js";
import { go, link } from "../lib/router.js";
import { mayChange, whyNot } from "../lib/users.js";

const STATES = [["RUNNING", "Running"], ["PAUSED", "Paused"], ["STOPPED", "Stopped: offsets can be set first"]];

export function createView(root, life, { parts, query }) {
  document.title = "New connector – Penstock";
  viewing(operations.listPlugins());
  if (!mayChange()) root.append(head("New connector"), notice("amber", whyNot()));
  else if (parts[1] === "copy") copyOf(root, life, query.get("of"));
  else if (parts[1]) begin(root, life, newConnector(parts[1]), parts[1], { "connector.class": parts[1] });
  else choosePlugin(root, life);
}

async function copyOf(root, life, name) {
  try {
    const { config } = await get(["connectors", name], { signal: life.signal });
    begin(root, life, newConnector(`copy of ${name}`), config["connector.class"], { ...config, name: `${name}-copy` });
  } catch (error) {
    if (!life.over) root.append(head("New connector"), notice("red", error.message));
  }
}

function choosePlugin(root, life) {
  const list = h("div", { class: "stack loose" });
  let plugins = null;
  let text = "";
  const draw = () => {
    if (!plugins) return;
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const found = plugins.filter((plugin) => words.every((word) => `${plugin.class} ${plugin.type}`.toLowerCase().includes(word)));
    const part = (type, title) => {
      const some = found.filter((plugin) => plugin.type === type);
      return some.length ? h("section", { class: "stack", "aria-label": title }, h("h2", {}, title), h("div", { class: "plugins" }, some.map(card))) : null;
    };
    swap(list, found.length ? [part("source", "Sources"), part("sink", "Sinks")] : empty("Nothing matches", "Plugins come from installed packages and plugin.path."));
  };
  root.append(head("New connector", { crumbs: h("a", { href: "#/connectors" }, "Connectors") }), h("p", { class: "quiet" }, "What should it be?"), search("Search plugins", "", (value) => { text = value; draw(); }), list);
  life.poll(
    async () => {
      plugins ??= (await get(["connector-plugins"], { signal: life.signal })).sort((a, b) => shortClass(a.class).localeCompare(shortClass(b.class)));
      if (!list.children.length) draw();
    },
    30_000,
    (error) => swap(list, notice("red", error.message)),
  );
}

function card(plugin) {
  return h(
    "a",
    { class: "plugin", href: link(["new", plugin.class]), "data-key": plugin.class },
    h("span", { class: "row" }, icon(plugin.type), h("strong", {}, inWords(shortClass(plugin.class))), plugin.version && h("span", { class: "tag push" }, plugin.version)),
    h("span", { class: "quiet small wrap mono" }, plugin.class),
  );
}

/** A class name that may be broken between its words, rather than within one. */
const inWords = (name) => name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((word, index) => (index ? [h("wbr"), word] : [word]));

/** The form, with what was typed into it before, if anything was. */
function begin(root, life, place, plugin, given) {
  life.onEnd(() => draftAt(place) && toast("What you filled in is kept while this page is open."));
  const afresh = () => {
    dropDraft(place);
    swap(root);
    fillIn(root, life, { place, plugin, given, afresh });
  };
  fillIn(root, life, { place, plugin, given, afresh });
}

function fillIn(root, life, { place, plugin, given, afresh }) {
  const draft = draftAt(place);
  const config = { ...(draft?.config ?? given) };
  const state = h("div", { role: "status" });
  const preview = h("div");
  const initial = h("select", { id: "initial-state", onchange: () => { keep(); draw(); } }, STATES.map(([value, label]) => h("option", { value }, label)));
  if (draft) initial.value = draft.initial;
  let secrets = new Set();
  const operation = () => operations.create(config.name ?? "", { ...config }, initial.value, secrets);
  const draw = () => preview.replaceChildren(commandsOf(operation()));
  const keep = () => {
    const typed = editor.typed();
    const touched = typed !== null || initial.value !== STATES[0][0] || changes(given, config).length > 0;
    if (touched) keepDraft(place, { config, initial: initial.value, typed });
    else dropDraft(place);
  };
  const editor = configEditor(plugin, config, {
    signal: life.signal,
    typed: draft?.typed,
    onTyping: () => keep(),
    onState: (now) => {
      secrets = now.secrets;
      keep();
      state.replaceChildren(stateOf(now));
      draw();
    },
  });
  const create = async () => {
    if (!(await editor.commit())) return;
    const answer = await editor.form.validate();
    if (!answer || answer.error_count) {
      editor.form.revealErrors();
      return;
    }
    try {
      await perform(operation());
      dropDraft(place);
      go(["connectors", config.name]);
    } catch {
      // The user was told; the form stays as it is.
    }
  };
  const side = h(
    "div",
    { class: "stack sticky" },
    state,
    draft && notice("blue", "This is what you filled in before. ", button("Begin anew", { small: true, onclick: afresh })),
    panel("Create", {}, h("div", { class: "body stack" }, h("div", { class: "stack tight" }, h("label", { for: "initial-state" }, "Begin as"), initial), button("Create connector", { kind: "primary", iconName: "plus", onclick: create }))),
    panel("The same from a terminal", {}, h("div", { class: "body" }, preview)),
  );
  root.append(
    head(`New ${shortClass(plugin)}`, { crumbs: [h("a", { href: "#/connectors" }, "Connectors"), " / ", h("a", { href: "#/new" }, "New")] }),
    h("div", { class: "columns wide-left" }, editor.node, side),
  );
  if (!document.activeElement || document.activeElement === document.body) root.querySelector("h1").focus();
}
