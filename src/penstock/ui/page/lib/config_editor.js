// A configuration as a form or as JSON, whichever the user likes; both edit the same object.
import { ConfigForm } from "./config_form.js";
import { h, uniqueId } from "./dom.js";
import { parse } from "./exact_json.js";
import { button, search } from "./parts.js";
import { HIDDEN, shown, shownConfig } from "./secret_looks.js";

/**
 * `{node, form, commit(), typed()}`: `commit` takes over JSON that was typed, false when it is none. `typed` is that
 * JSON as long as it is not taken over, else null; with `options.typed` the editor begins with such a text.
 */
export function configEditor(plugin, config, options) {
  const form = new ConfigForm(plugin, config, options);
  const id = uniqueId("json");
  const error = h("div", { class: "error", id: `${id}-error`, role: "alert" });
  const area = h("textarea", { id, rows: "22", spellcheck: "false", "aria-label": "Configuration as JSON", "aria-describedby": `${id}-error`, oninput: () => options.onTyping?.() });
  const eye = button("Show secrets", { iconName: "eye", small: true, onclick: () => reveal() });
  const json = h("div", { class: "body stack field-json", hidden: true }, h("div", { class: "row" }, eye), area, h("div", { class: "field" }, error));
  const finder = search("Find a key", "", (text) => form.find(text));
  const first = form.validate();
  let mode = "form";
  let revealed = false;
  let written = "";
  const covered = () => shownConfig(config, form.secrets);
  const write = () => {
    eye.parentElement.hidden = JSON.stringify(covered()) === JSON.stringify(config);
    eye.setAttribute("aria-pressed", String(revealed));
    area.value = written = JSON.stringify(revealed ? config : covered(), null, 2);
  };
  const typed = () => (mode === "json" && area.value !== written ? area.value : null);
  const commit = async () => {
    if (typed() === null) return true;
    try {
      await form.replace(uncovered(configOf(area.value), revealed ? {} : config, form.secrets));
      error.textContent = "";
      written = area.value;
      return true;
    } catch (problem) {
      error.textContent = `This is not a configuration: ${problem.message}`;
      area.focus();
      return false;
    }
  };
  const reveal = async () => {
    if (!(await commit())) return;
    revealed = !revealed;
    write();
  };
  const turn = async (next) => {
    if (next === mode || !(await commit())) return;
    if (next === "json") {
      await first;
      write();
    }
    show(next);
  };
  const show = (next) => {
    mode = next;
    form.node.hidden = finder.hidden = mode === "json";
    json.hidden = mode === "form";
    for (const [name, chip] of Object.entries(chips)) chip.setAttribute("aria-pressed", String(name === mode));
  };
  const chip = (name, label) => h("button", { type: "button", class: "chip", "aria-pressed": String(name === mode), onclick: () => turn(name) }, label);
  const chips = { form: chip("form", "Form"), json: chip("json", "JSON") };
  const switcher = h("div", { class: "chips push", role: "group", "aria-label": "Edit as" }, Object.values(chips));
  const node = h("section", { class: "panel", "aria-label": "Configuration" }, h("header", {}, h("h2", {}, "Configuration"), finder, switcher), form.node, json);
  if (options.typed) {
    write();
    area.value = options.typed;
    show("json");
  }
  return { node, form, commit, typed };
}

/** Keys and texts of what was typed: numbers stay as they were written. */
function configOf(text) {
  const found = parse(text);
  if (found === null || typeof found !== "object" || Array.isArray(found) || JSON.isRawJSON?.(found)) throw new Error("it must be an object of keys and values");
  return Object.fromEntries(Object.entries(found).map(([key, value]) => [key, value === null || typeof value === "string" ? value : JSON.stringify(value)]));
}

/** What was covered and left alone is as it was before. */
function uncovered(config, before, secrets) {
  const valueOf = (key, value) => {
    const old = before[key];
    const seen = shown(key, old, secrets);
    if (typeof old !== "string" || seen === old) return value;
    if (value === seen) return old;
    if (value?.includes(HIDDEN)) throw new Error(`${HIDDEN} in ${key} stands for a secret: show secrets to edit it`);
    return value;
  };
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, valueOf(key, value)]));
}
