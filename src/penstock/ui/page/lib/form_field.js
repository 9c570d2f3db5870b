// One key of a configuration: its input, what it means, what is wrong with it.
import { Cover } from "./cover.js";
import { h, uniqueId } from "./dom.js";
import { icon } from "./icons.js";

/** The values of closed lists that all connectors have: Kafka Connect's validation recommends none for them. */
const CHOICES = {
  "errors.tolerance": ["none", "all"],
  "config.action.reload": ["restart", "none"],
  "exactly.once.support": ["requested", "required"],
  "transaction.boundary": ["poll", "interval", "connector"],
};
const NUMBERS = new Set(["INT", "LONG", "SHORT", "DOUBLE"]);

/** `changed(key, value)` is called with text, or with null when the key is not to be set. */
export class FormField {
  constructor(definition, changed) {
    this.key = definition.name;
    this.id = uniqueId("field");
    this.changed = changed;
    this.errors = h("div", { id: `${this.id}-errors` });
    this.choices = h("datalist", { id: `${this.id}-choices` });
    this.input = this.#inputOf(definition);
    this.node = h(
      "div",
      { class: "field", "data-field": this.key },
      this.#about(definition),
      h("div", {}, this.#dressed(definition), this.choices, this.errors),
    );
  }

  #about({ name, display_name: title, documentation }) {
    this.must = h("span", { class: "must", hidden: true }, " (required)");
    return h(
      "div",
      { class: "about" },
      h("label", { for: this.id }, title || name, this.must), " ",
      title && title !== name ? h("code", { class: "key" }, name) : null,
      documentation && h("p", { class: "doc", id: `${this.id}-doc` }, documentation),
    );
  }

  #inputOf({ type, default_value: fallback, documentation }) {
    const common = {
      id: this.id,
      "aria-describedby": [documentation && `${this.id}-doc`, `${this.id}-errors`].filter(Boolean).join(" "),
      oninput: () => this.changed(this.key, this.input.value === "" ? null : this.input.value),
    };
    if (type === "BOOLEAN") {
      const options = [["", `Default (${fallback ?? "none"})`], ["true", "true"], ["false", "false"]];
      return h("select", common, options.map(([value, label]) => h("option", { value }, label)));
    }
    return h("input", {
      ...common,
      inputmode: NUMBERS.has(type) ? "decimal" : null,
      list: type === "PASSWORD" ? null : `${this.id}-choices`,
      placeholder: type === "PASSWORD" ? "" : (fallback ?? (type === "LIST" ? "separated by commas" : "")),
      spellcheck: "false",
    });
  }

  #dressed({ type, display_name: title, name }) {
    if (type === "BOOLEAN") return this.input;
    this.cover = new Cover(this.input, name, { label: title || name, declared: type === "PASSWORD" });
    return this.cover.node;
  }

  /** Show a value of the configuration; what is being typed is left alone. */
  setValue(value) {
    const text = value ?? "";
    if (document.activeElement === this.input) return;
    if (this.input.value !== text) this.input.value = text;
    this.cover?.update();
  }

  /** Show what validation said. A required key that the worker does not miss is filled in by it. */
  report({ definition, value: { value, errors, recommended_values: recommended } }, touched) {
    this.must.hidden = !definition.required || (value === null && !errors.length);
    const shown = touched ? errors : [];
    this.input.setAttribute("aria-invalid", String(shown.length > 0));
    this.errors.replaceChildren(...shown.map((text) => h("div", { class: "error" }, icon("failed"), h("span", {}, text))));
    const values = CHOICES[this.key] ?? recommended.filter((value) => value !== null).map(String);
    if (values.length !== this.choices.children.length) this.choices.replaceChildren(...values.map((value) => h("option", { value })));
  }
}
