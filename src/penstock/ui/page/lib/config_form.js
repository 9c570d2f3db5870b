// A form made of a plugin's configuration definition, checked by the worker while it is filled in.
import { viewing } from "./actions.js";
import { call } from "./api.js";
import { debounced, h } from "./dom.js";
import { FormField } from "./form_field.js";
import { plural } from "./format.js";
import { icon } from "./icons.js";
import { validate } from "./operations.js";
import { notice } from "./parts.js";
import { OtherKeys } from "./other_keys.js";

const WAIT_MS = 300;
const FRAMEWORK = ["Common", "Transforms", "Predicates", "Error Handling", "Topic Creation", "Exactly Once Support", "offsets.topic"];
const TITLES = { "offsets.topic": "Offsets topic" };
const CONVERTER = /^(key|value|header)\.converter($|\.)/;
const TRANSFORM = /^(transforms|predicates)\./;
const HIDDEN = new Set(["connector.class"]);

/**
 * `config` is a plain object that is changed in place; `fixed` are keys that cannot be edited, `verb` what the client
 * does with it (`create`, `apply`). `onState` is called with `{errors, secrets, pending, problem}` whenever something
 * is known.
 */
export class ConfigForm {
  constructor(plugin, config, { fixed = [], strict = false, verb = "create", signal, onState }) {
    this.plugin = plugin;
    this.config = config;
    this.hidden = new Set([...HIDDEN, ...fixed]);
    this.touched = new Set();
    this.strict = strict;
    this.verb = verb;
    this.edited = verb === "create";
    this.signal = signal;
    this.onState = onState;
    this.fields = new Map();
    this.others = new OtherKeys((key, value) => this.#set(key, value));
    this.body = h("div");
    this.filter = "";
    this.node = h("form", { novalidate: true, autocomplete: "off", "aria-label": "Configuration", onsubmit: (event) => event.preventDefault() }, this.body);
    this.secrets = new Set();
    this.#validateSoon = debounced(() => this.validate(), WAIT_MS);
  }

  #validateSoon;
  #newest;
  #turn = 0;
  #layout = "";

  #set(key, value) {
    if (value === null) delete this.config[key];
    else this.config[key] = value;
    this.touched.add(key);
    this.edited = true;
    this.onState({ pending: true, secrets: this.secrets });
    this.#validateSoon();
  }

  /** Take over another configuration: from the JSON editor. */
  replace(config) {
    for (const key of Object.keys(this.config)) delete this.config[key];
    Object.assign(this.config, config);
    this.strict = this.edited = true;
    return this.validate();
  }

  /** Ask the worker: the answer to the newest question, whoever has asked it; null when there is none. */
  async validate() {
    let asked = (this.#newest = this.#ask());
    for (;;) {
      const answer = await asked;
      if (asked === this.#newest) return answer;
      asked = this.#newest;
    }
  }

  async #ask() {
    this.#turn += 1;
    const turn = this.#turn;
    try {
      const asked = validate(this.plugin, { ...this.config, "connector.class": this.config["connector.class"] ?? this.plugin }, this.verb);
      const answer = await call(asked.method, asked.path, { body: asked.body, signal: this.signal });
      if (turn !== this.#turn) return null;
      this.#show(answer);
      if (this.edited) viewing({ ...asked, secrets: this.secrets });
      this.onState({ pending: false, errors: answer.error_count, begun: this.strict || this.touched.size > 0, secrets: this.secrets });
      return answer;
    } catch (error) {
      if (error.name === "AbortError" || turn !== this.#turn) return null;
      if (!this.fields.size) this.body.replaceChildren(notice("red", error.message));
      this.onState({ pending: false, problem: error.message, secrets: this.secrets });
      return null;
    }
  }

  /** Show all errors, also those of keys that were not touched, and go to the first. */
  revealErrors() {
    this.strict = true;
    for (const [key, field] of this.fields) field.report(this.reports.get(key), true);
    this.onState({ pending: false, errors: this.errors, begun: true, secrets: this.secrets });
    const first = this.body.querySelector("[aria-invalid=true]");
    for (let parent = first?.closest("details"); parent; parent = parent.parentElement.closest("details")) parent.open = true;
    first?.focus();
  }

  /** Show only keys whose name or text has these words. */
  find(text) {
    this.filter = text.trim().toLowerCase();
    for (const [key, field] of this.fields) field.node.hidden = !this.#found(this.reports.get(key).definition);
    for (const details of this.body.querySelectorAll("details")) if (this.filter) details.open = true;
  }

  #found({ name, display_name: title, documentation }) {
    return !this.filter || `${name} ${title} ${documentation}`.toLowerCase().includes(this.filter);
  }

  #show(answer) {
    const shown = answer.configs.filter(({ definition, value }) => definition && value?.visible && !this.hidden.has(definition.name));
    this.reports = new Map(shown.map((report) => [report.definition.name, report]));
    this.secrets = new Set(answer.configs.filter((one) => one.definition?.type === "PASSWORD").map((one) => one.definition.name));
    for (const { definition } of shown) {
      if (!this.fields.has(definition.name)) this.fields.set(definition.name, new FormField(definition, (key, value) => this.#set(key, value)));
    }
    this.errors = answer.error_count;
    this.#arrange(shown, answer.groups);
    for (const [key, report] of this.reports) {
      const field = this.fields.get(key);
      field.setValue(this.config[key]);
      field.report(report, this.strict || this.touched.has(key));
      field.node.hidden = !this.#found(report.definition);
    }
    const known = new Set([...this.hidden, ...answer.configs.map((one) => one.definition?.name)]);
    this.others.show(Object.entries(this.config).filter(([key]) => !known.has(key)));
    for (const key of [...this.fields.keys()]) if (!this.reports.has(key)) this.fields.delete(key);
  }

  #arrange(shown, groups) {
    const sections = sectionsOf(shown, groups);
    const layout = JSON.stringify(sections.map(({ title, reports }) => [title, reports.map((one) => one.definition.name)]));
    if (layout === this.#layout) return;
    this.#layout = layout;
    const focused = document.activeElement;
    const open = new Map([...this.body.querySelectorAll("details")].map((details) => [details.dataset.key, details.open]));
    this.body.replaceChildren(...sections.map((section) => this.#section(section, open)), this.others.node);
    if (this.body.contains(focused)) focused.focus({ preventScroll: true });
  }

  #section({ title, reports, closed }, open) {
    const nodes = reports.map(({ definition }) => this.fields.get(definition.name).node);
    if (!closed) return h("fieldset", { class: "form-group" }, h("legend", { class: "unseen" }, title), h("h3", {}, title), nodes);
    const isOpen = open.get(title) ?? reports.some(({ definition, value }) => this.config[definition.name] !== undefined || value.errors.length);
    return h("div", { class: "form-group" }, h("details", { "data-key": title, open: isOpen }, h("summary", {}, title, " ", h("span", { class: "quiet small" }, plural(nodes.length, "key"))), h("div", { class: "fields" }, nodes)));
  }
}

/** What nearly everybody sets comes first, then the plugin's own groups, then those that all connectors have. */
function sectionsOf(reports, groups) {
  const converters = reports.filter(({ definition }) => CONVERTER.test(definition.name));
  const first = reports.filter(({ definition }) => (definition.required || definition.importance === "HIGH") && !CONVERTER.test(definition.name) && !TRANSFORM.test(definition.name));
  first.sort((a, b) => rank(a) - rank(b));
  const rest = reports.filter((one) => !first.includes(one) && !converters.includes(one));
  const own = rest.filter(({ definition }) => !definition.group);
  const names = [...new Set([...groups, ...rest.map(({ definition }) => definition.group)])].filter(Boolean);
  names.sort((a, b) => place(a) - place(b));
  return [
    { title: "Essentials", reports: first },
    { title: "More of this connector", reports: own, closed: true },
    { title: "Converters", reports: converters, closed: true },
    ...names.map((name) => ({ title: TITLES[name] ?? name, reports: rest.filter(({ definition }) => definition.group === name), closed: true })),
  ].filter((section) => section.reports.length);
}

/** Where a group stands: that of one transform or predicate (`Transforms: mask`) right below those that name it. */
function place(group) {
  const all = FRAMEWORK.indexOf(group.split(": ")[0]);
  return all === -1 ? -1 : all + (FRAMEWORK.includes(group) ? 0 : 0.5);
}

function rank({ definition }) {
  if (definition.name === "name") return 0;
  if (definition.name === "tasks.max") return 3;
  return definition.required ? 1 : 2;
}

/** How a form is doing, in words. One that nobody has `begun` to fill in has no mistakes. */
export function stateOf({ pending, errors, problem, begun }) {
  if (problem) return notice("red", problem);
  if (pending || errors === undefined) return h("div", { class: "notice" }, icon("waiting"), h("div", {}, "Checking …"));
  if (errors && !begun) return notice("grey", "Fill in what is required: the worker checks it while you type.");
  return errors ? notice("amber", `${plural(errors, "thing")} to mend before it can be used.`) : notice("green", "The worker finds nothing wrong with it.");
}
