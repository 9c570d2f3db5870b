// Small parts that every view is made of.
import { previewing } from "./actions.js";
import { curlLines, penstockOfAll } from "./commands.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { announce } from "./notices.js";
import { forChanging, mayChange, whyNot } from "./users.js";

/**
 * A button. `operation` (a function) lets the command strip show what it would do. One that `changes` something, as
 * operations do, is there to be seen for who may only read.
 */
export function button(label, { onclick, kind, iconName, disabled, operation, changes = Boolean(operation), key, title, iconOnly, small, class: style, ...more } = {}) {
  const refused = changes && !mayChange();
  return h(
    "button",
    {
      type: "button",
      class: ["button", kind, style, small && "small", iconOnly && "square"],
      disabled: disabled || refused,
      onclick,
      title: refused ? whyNot() : (title ?? (iconOnly ? label : null)),
      "aria-label": iconOnly ? label : null,
      "data-key": key,
      ...(operation ? previewing(operation) : {}),
      ...more,
    },
    iconName && icon(iconName),
    iconOnly ? null : label,
  );
}

/** A framed part of a view with a heading. */
export function panel(title, { tools, level = 2, id } = {}, ...content) {
  const heading = title ? h("header", {}, h(`h${level}`, { id }, title), tools) : null;
  return h("section", { class: "panel", "aria-label": title || null }, heading, ...content);
}

/** The head of a view. The heading takes the focus when the view is entered. */
export function head(title, { crumbs, beside, actions } = {}) {
  return h(
    "div",
    { class: "head" },
    h(
      "div",
      { class: "titles" },
      crumbs && h("nav", { class: "crumbs", "aria-label": "Breadcrumb" }, crumbs),
      h("div", { class: "row" }, h("h1", { tabindex: "-1" }, title), beside),
    ),
    actions && h("div", { class: "actions" }, actions),
  );
}

/** The way to the form of a new connector, for who may make one. */
export const newConnectorLink = () => forChanging(() => h("a", { class: "button primary", href: "#/new" }, icon("plus"), "New connector"));

export function notice(kind, ...content) {
  const icons = { red: "failed", amber: "warn", green: "check", blue: "info", grey: "info" };
  return h("div", { class: ["notice", kind] }, icon(icons[kind]), h("div", {}, ...content));
}

export function empty(title, ...text) {
  return h("div", { class: "empty" }, h("strong", {}, title), ...text);
}

/** A table in a frame that scrolls sideways. `columns` are texts or `{label, class, unseen, sort}`. */
export function table(label, columns, rows, { className, key } = {}) {
  const cells = columns.map((column) => {
    const { label: text, class: style, unseen, node, sort } = typeof column === "string" ? { label: column } : column;
    return h("th", { scope: "col", class: style, "aria-sort": sort ?? null }, node ?? (unseen ? h("span", { class: "unseen" }, text) : text));
  });
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": label, "data-scroll": key ?? label, "data-key": `table ${key ?? label}` },
    h("table", { class: className }, h("caption", { class: "unseen" }, label), h("thead", {}, h("tr", {}, cells)), h("tbody", {}, rows)),
  );
}

/** A button that copies a text. */
export function copyButton(label, text) {
  return button(`Copy: ${label}`, {
    iconName: "copy",
    iconOnly: true,
    kind: "plain",
    onclick: async () => {
      await copyText(typeof text === "function" ? text() : text);
      announce(`${label} copied`);
    },
  });
}

async function copyText(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = h("textarea", { class: "unseen", value: text });
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** The commands of some operations. */
export function commandsOf(operations) {
  const list = [operations].flat();
  return h(
    "div",
    { class: "commands" },
    list.every((operation) => operation.cli) ? commandLine("penstock command", penstockOfAll(list)) : null,
    commandLine("curl command", list.map(curlLines).join("\n")),
  );
}

/** A command is broken between its words, never in them. */
function commandLine(label, text) {
  const words = text.split(/( +)/).map((part) => (part.startsWith(" ") ? part : h("span", { class: "word" }, part)));
  return h("div", { class: "line" }, h("pre", { class: "code", tabindex: "0", role: "group", "aria-label": label }, words), copyButton(label, text));
}

/** A search field. */
export function search(label, value, oninput, { id } = {}) {
  return h(
    "div",
    { class: "search" },
    icon("search"),
    h("input", { type: "search", "aria-label": label, placeholder: label, value, id, "data-key": id ?? label, autocomplete: "off", spellcheck: "false", oninput: (event) => oninput(event.target.value) }),
  );
}
