// The configuration: read, edited as a form or as JSON, and saved after a look at what changes.
import { perform } from "../../lib/actions.js";
import { configEditor } from "../../lib/config_editor.js";
import { stateOf } from "../../lib/config_form.js";
import { confirmed } from "../../lib/dialogs.js";
import { changes, diffTable } from "../../lib/diff.js";
import { h, swap } from "../../lib/dom.js";
import { plural } from "../../lib/format.js";
import * as operations from "../../lib/operations.js";
import { button, notice } from "../../lib/parts.js";

export function configTab(root, life, shared) {
  let saved = null;
  let editor = null;
  const begin = (config) => {
    saved = { ...config };
    editor = edit(root, life, shared, saved, (next) => begin(next));
  };
  return {
    update: ({ info }) => {
      if (!editor) begin(info.config);
      else editor.notice(info.config);
    },
  };
}

function edit(root, life, shared, saved, again) {
  const { name } = shared;
  const config = { ...saved };
  const state = h("div", { role: "status" });
  const moved = h("div");
  const count = h("p", { class: "quiet" });
  let editor = null;
  const saver = button("Review and save", { kind: "primary", onclick: () => save() });
  const undo = button("Undo changes", { onclick: () => again(saved) });
  editor = configEditor(saved["connector.class"], config, { fixed: ["name"], strict: true, signal: life.signal, onTyping: () => tell(), onState: (now) => { state.replaceChildren(stateOf(now)); tell(); } });
  const tell = () => {
    const found = changes(saved, config).length;
    saver.disabled = undo.disabled = found === 0 && !editor?.typing();
    count.textContent = found ? `${plural(found, "key")} changed, not saved yet.` : "Nothing is changed.";
  };
  const save = async () => {
    if (!(await editor.commit())) return;
    tell();
    const found = changes(saved, config);
    const operation = () => operations.putConfig(name, { ...config });
    if (!found.length) return;
    const { secrets } = editor.form;
    const agreed = await confirmed(`Save ${plural(found.length, "change")} of ${name}?`, {
      text: [diffTable(found, secrets), h("p", { class: "quiet" }, "Its tasks are started anew with the new configuration; its update hook is called first, if it has one.")],
      operations: () => hidden(operation(), secrets),
      agree: "Save",
    });
    if (!agreed) return;
    try {
      const answer = await perform(operation(), { secrets });
      again(answer.config);
    } catch {
      editor.form.revealErrors();
    }
  };
  const side = h("div", { class: "stack sticky" }, state, moved, count,
    h("div", { class: "row" }, saver, undo));
  swap(root, h("div", { class: "columns wide-left" }, editor.node, side));
  tell();
  return {
    notice: (now) => {
      if (changes(saved, now).length && !moved.children.length) {
        moved.replaceChildren(notice("amber", "Somebody else has changed it meanwhile. ", button("Show theirs", { small: true, onclick: () => again(now) })));
      }
    },
  };
}

const hidden = (operation, secrets) => {
  const cover = (config) => Object.fromEntries(Object.entries(config).map(([key, value]) => [key, secrets.has(key) ? "…" : value]));
  return { ...operation, body: cover(operation.body), stdin: { ...operation.stdin, config: cover(operation.stdin.config) } };
};
