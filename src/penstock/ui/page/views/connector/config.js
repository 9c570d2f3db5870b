// The configuration: read, edited as a form or as JSON, and saved after a look at what changes.
import { perform } from "../../lib/actions.js";
import { get } from "../../lib/api.js";
import { configEditor } from "../../lib/config_editor.js";
import { stateOf } from "../../lib/config_form.js";
import { configTable, declaredSecrets } from "../../lib/config_table.js";
import { chosen, confirmed } from "../../lib/dialogs.js";
import { changes, diffTable } from "../../lib/diff.js";
import { h, onChange, swap } from "../../lib/dom.js";
import { changesOf, draftAt, dropDraft, keepDraft } from "../../lib/drafts.js";
import { plural } from "../../lib/format.js";
import { toast } from "../../lib/notices.js";
import * as operations from "../../lib/operations.js";
import { button, notice, panel } from "../../lib/parts.js";
import { mayChange, whyNot } from "../../lib/users.js";

export function configTab(root, life, shared) {
  const { name } = shared;
  if (!mayChange()) return configToRead(root, life);
  const place = changesOf(name);
  let editor = null;
  const begin = (draft) => {
    editor = edit(root, life, name, draft, (config) => {
      dropDraft(place);
      begin({ saved: config, config });
    });
  };
  life.onEnd(() => draftAt(place) && toast(`Unsaved changes of ${name} are kept while this page is open.`));
  return {
    update: ({ info }) => {
      if (!editor) begin(draftAt(place) ?? { saved: info.config, config: info.config });
      editor.notice(info.config);
    },
  };
}

/** For who may not change it, nor have it checked. */
function configToRead(root, life) {
  const draw = onChange((config, secrets) => swap(root, notice("blue", whyNot()), panel("Configuration", {}, configTable("Configuration", config, new Set(secrets)))));
  return {
    update: async ({ info: { config } }) => {
      const secrets = await declaredSecrets(config["connector.class"]);
      if (!life.over) draw(config, [...secrets]);
    },
  };
}

/** `again(config)` begins anew from another configuration. */
function edit(root, life, name, { saved, config: begun, typed }, again) {
  const config = { ...begun };
  const state = h("div", { role: "status" });
  const moved = h("div");
  const count = h("p", { class: "quiet" });
  const saver = button("Review and save", { kind: "primary", onclick: () => save() });
  const undo = button("Undo changes", { onclick: () => again(saved) });
  const tell = () => {
    const found = changes(saved, config).length;
    const text = editor.typed();
    saver.disabled = undo.disabled = found === 0 && text === null;
    if (saver.disabled) dropDraft(changesOf(name));
    else keepDraft(changesOf(name), { saved, config, typed: text });
    count.textContent = found ? `${plural(found, "key")} changed, not saved yet.` : text === null ? "Nothing is changed." : "Changed, not saved yet.";
  };
  const editor = configEditor(saved["connector.class"], config, { fixed: ["name"], strict: true, verb: "apply", signal: life.signal, typed, onTyping: () => tell(), onState: (now) => { state.replaceChildren(stateOf(now)); tell(); } });
  const save = async () => {
    if (!(await editor.commit())) return;
    tell();
    try {
      const answer = await saveOver(name, saved, config, editor.form.secrets, life);
      if (answer) again(answer);
    } catch (error) {
      if (error.status) editor.form.revealErrors();
    }
  };
  const side = h("div", { class: "stack sticky" }, state, moved, count, h("div", { class: "row" }, saver, undo));
  swap(root, h("div", { class: "columns wide-left" }, editor.node, side));
  tell();
  return {
    notice: onChange((now) => {
      const theirs = changes(saved, now).length > 0;
      swap(moved, theirs ? notice("amber", "Somebody else has changed it meanwhile. ", button("Show theirs", { small: true, onclick: () => again(now) })) : null);
    }),
  };
}

/**
 * Save, unless the user thinks better of it: he is shown what changes against what is there at that moment, and asked
 * again when somebody else was faster. Returns the configuration to go on with, null to go on with this one. Once the
 * view has ended he is asked nothing: it would stand over another one.
 */
async function saveOver(name, saved, config, secrets, life) {
  const operation = () => operations.putConfig(name, { ...config }, secrets);
  for (let base = saved, agreed = false; ; ) {
    const newest = await newestOf(name);
    if (life.over && !agreed) return null;
    if (changes(base, newest).length) {
      const choice = await askAboutTheirs(name, changes(base, newest), secrets);
      if (choice !== "overwrite") return choice === "theirs" ? newest : null;
      [base, agreed] = [newest, false];
    }
    const found = changes(base, config);
    if (!found.length) return newest;
    if (agreed) return (await perform(operation())).config;
    agreed = await confirmed(`Save ${plural(found.length, "change")} of ${name}?`, {
      text: [diffTable(found, secrets), h("p", { class: "quiet" }, "Its tasks are started anew with the new configuration; its update hook is called first, if it has one.")],
      operations: operation,
      agree: "Save",
    });
    if (!agreed) return null;
  }
}

async function newestOf(name) {
  try {
    return await get(["connectors", name, "config"]);
  } catch (error) {
    toast(`${name} was not saved: ${error.message}`, true);
    throw error;
  }
}

function askAboutTheirs(name, found, secrets) {
  const text = [
    h("p", {}, "Nothing was saved. This is what changed since you began; overwriting undoes it."),
    diffTable(found, secrets),
  ];
  return chosen(`Somebody else has changed ${name} meanwhile`, text, [
    { id: "theirs", label: "Look at theirs" },
    { id: "overwrite", label: "Overwrite theirs", danger: true },
  ]);
}
