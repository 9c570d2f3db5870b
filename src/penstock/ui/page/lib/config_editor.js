// A configuration as a form or as JSON, whichever the user likes; both edit the same object.
import { ConfigForm } from "./config_form.js";
import { h, uniqueId } from "./dom.js";
import { search } from "./parts.js";

/** `{node, form, config, commit(), typing()}`: `commit` takes over JSON that was typed, false when it is none. */
export function configEditor(plugin, config, options) {
  const form = new ConfigForm(plugin, config, options);
  const id = uniqueId("json");
  const error = h("div", { class: "error", id: `${id}-error`, role: "alert" });
  const area = h("textarea", { id, rows: "22", spellcheck: "false", "aria-label": "Configuration as JSON", "aria-describedby": `${id}-error`, oninput: () => options.onTyping?.() });
  const json = h("div", { class: "body stack field-json", hidden: true }, area, h("div", { class: "field" }, error));
  const finder = search("Find a key", "", (text) => form.find(text));
  let mode = "form";
  let shown = "";
  const commit = async () => {
    if (mode === "form") return true;
    try {
      const found = JSON.parse(area.value);
      if (found === null || typeof found !== "object" || Array.isArray(found)) throw new Error("it must be an object of keys and values");
      const texts = Object.entries(found).map(([key, value]) => [key, value === null ? null : typeof value === "object" ? JSON.stringify(value) : String(value)]);
      error.textContent = "";
      await form.replace(Object.fromEntries(texts));
      return true;
    } catch (problem) {
      error.textContent = `This is not a configuration: ${problem.message}`;
      area.focus();
      return false;
    }
  };
  const turn = async (next) => {
    if (next === mode || !(await commit())) return;
    mode = next;
    if (mode === "json") area.value = shown = JSON.stringify(config, null, 2);
    form.node.hidden = finder.hidden = mode === "json";
    json.hidden = mode === "form";
    for (const [name, chip] of Object.entries(chips)) chip.setAttribute("aria-pressed", String(name === mode));
  };
  const chip = (name, label) => h("button", { type: "button", class: "chip", "aria-pressed": String(name === mode), onclick: () => turn(name) }, label);
  const chips = { form: chip("form", "Form"), json: chip("json", "JSON") };
  const switcher = h("div", { class: "chips push", role: "group", "aria-label": "Edit as" }, Object.values(chips));
  const node = h("section", { class: "panel", "aria-label": "Configuration" }, h("header", {}, h("h2", {}, "Configuration"), finder, switcher), form.node, json);
  form.validate();
  return { node, form, config, commit, typing: () => mode === "json" && area.value !== shown };
}
