// Keys of a configuration that no definition knows: shown, editable, and a way to add one.
import { Cover } from "./cover.js";
import { h, uniqueId } from "./dom.js";
import { button } from "./parts.js";

export class OtherKeys {
  constructor(changed) {
    this.changed = changed;
    this.list = h("div", { class: "fields" });
    const id = uniqueId("other");
    this.name = h("input", { id, placeholder: "such as transforms.mask.fields", spellcheck: "false", autocomplete: "off", onkeydown: (event) => event.key === "Enter" && (event.preventDefault(), this.#add()) });
    this.node = h(
      "div",
      { class: "form-group" },
      h(
        "details",
        { "data-key": "other keys" },
        h("summary", {}, "Other keys"),
        h("div", { class: "fields" }, this.list, h("div", { class: "field" }, h("div", { class: "about" }, h("label", { for: id }, "Add a key")), h("div", { class: "with-button" }, this.name, button("Add", { onclick: () => this.#add() })))),
      ),
    );
    this.inputs = new Map();
    this.covers = new Map();
  }

  #add() {
    const key = this.name.value.trim();
    if (!key) return;
    this.name.value = "";
    this.changed(key, "");
    this.show([...this.inputs.keys(), key].map((one) => [one, this.inputs.get(one)?.value ?? ""]));
    this.inputs.get(key).focus();
  }

  /** `entries` are keys with their values. */
  show(entries) {
    const names = entries.map(([key]) => key);
    if (JSON.stringify(names) !== JSON.stringify([...this.inputs.keys()])) {
      const old = this.inputs;
      this.inputs = new Map(entries.map(([key, value]) => [key, old.get(key) ?? this.#input(key, value)]));
      for (const key of this.covers.keys()) if (!this.inputs.has(key)) this.covers.delete(key);
      const focused = document.activeElement;
      this.list.replaceChildren(...names.map((key) => this.#field(key)));
      if (this.list.contains(focused)) focused.focus({ preventScroll: true });
      if (names.length) this.node.firstChild.open = true;
    }
    for (const [key, value] of entries) {
      const input = this.inputs.get(key);
      if (document.activeElement === input) continue;
      input.value = value ?? "";
      this.covers.get(key).update();
    }
  }

  #input(key, value) {
    const input = h("input", { id: uniqueId("other"), value: value ?? "", spellcheck: "false", oninput: (event) => this.changed(key, event.target.value) });
    this.covers.set(key, new Cover(input, key));
    return input;
  }

  #field(key) {
    const input = this.inputs.get(key);
    const drop = button(`Remove ${key}`, { iconName: "trash", iconOnly: true, onclick: () => this.changed(key, null) });
    return h("div", { class: "field", "data-field": key }, h("div", { class: "about" }, h("label", { for: input.id, class: "mono" }, key)), h("div", { class: "with-button" }, this.covers.get(key).node, drop));
  }
}
