// Questions in front of the page: native dialogs, which keep the focus and close with Escape.
import { h, uniqueId } from "./dom.js";
import { button, commandsOf } from "./parts.js";

/**
 * Show a dialog; `foot` are its buttons. Returns `{node, close}`; `onclose` is called in any case. It ends with the
 * view it was opened from: what it asks about is then no longer seen.
 */
export function showDialog(title, body, foot, onclose) {
  const id = uniqueId("dialog");
  const close = () => node.close();
  const gone = new AbortController();
  const node = h(
    "dialog",
    { "aria-labelledby": id, onclose: () => { gone.abort(); node.remove(); onclose?.(); } },
    h("div", { class: "dialog-head" }, h("h2", { id }, title), button("Close", { iconName: "cross", iconOnly: true, kind: "plain", onclick: close })),
    h("div", { class: "dialog-body" }, body),
    foot && h("div", { class: "dialog-foot" }, foot),
  );
  document.body.append(node);
  node.showModal();
  // Captured, so that the focus is free before the next view takes it.
  window.addEventListener("hashchange", close, { capture: true, signal: gone.signal });
  return { node, close };
}

/** Ask which of some ways to go: the `id` of one of `choices` (`{id, label, danger}`), null when the user goes back. */
export function chosen(title, text, choices) {
  return new Promise((resolve) => {
    let found = null;
    const pick = ({ id, label, danger }) => button(label, { kind: danger ? "danger" : null, onclick: () => { found = id; close(); } });
    const { close } = showDialog(title, h("div", { class: "stack" }, text), [button("Cancel", { autofocus: true, onclick: () => close() }), ...choices.map(pick)], () => resolve(found));
  });
}

/**
 * Ask before something is done. `operations` gives what will be done, for its commands; with `options` (a node) the
 * user may change it, after which `refresh` draws the commands again. True when agreed. What is dangerous is not done
 * by a careless Enter: then the focus is on going back. With `insist` (a text) one can agree only after it is ticked.
 */
export function confirmed(title, { text, operations, agree, danger, options, insist }) {
  return new Promise((resolve) => {
    let agreed = false;
    const area = h("div");
    const refresh = () => area.replaceChildren(commandsOf(operations()));
    refresh();
    const go = button(agree, { kind: danger ? "danger" : "primary", autofocus: !danger, disabled: Boolean(insist), onclick: () => { agreed = true; close(); } });
    const content = [
      text && h("div", { class: "stack" }, text),
      insist && h("label", { class: "check" }, h("input", { type: "checkbox", onchange: (event) => { go.disabled = !event.target.checked; } }), insist),
      options?.(refresh),
      h("details", { open: true }, h("summary", { class: "quiet" }, "The same from a terminal"), area),
    ];
    const { close } = showDialog(
      title,
      content,
      [
        button("Cancel", { autofocus: Boolean(danger), onclick: () => close() }),
        go,
      ],
      () => resolve(agreed),
    );
  });
}
