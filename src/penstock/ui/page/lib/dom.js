// Elements from data. Text always becomes text nodes: nothing here, or anywhere on the page, parses data as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element. `props` are attributes; `on…` are listeners, `class` may be a list, false and null are left out. */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.setAttribute("class", [value].flat().filter(Boolean).join(" "));
    else if (name === "value" || name === "checked" || name === "indeterminate") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...nodes(children));
  return node;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/**
 * Put new children into `parent`, keeping what the user is at: the focus, open details, scroll positions and text
 * that is being typed stay with the element of the same `data-key`.
 */
export function swap(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const open = new Map();
  for (const details of parent.querySelectorAll("details[data-key]")) open.set(details.dataset.key, details.open);
  const drafts = new Map();
  for (const field of parent.querySelectorAll("[data-draft]")) drafts.set(field.dataset.draft, field.value);
  const scrolled = new Map();
  for (const area of parent.querySelectorAll("[data-scroll]")) scrolled.set(area.dataset.scroll, [area.scrollTop, area.scrollLeft]);
  parent.replaceChildren(...nodes(children));
  for (const details of parent.querySelectorAll("details[data-key]")) {
    if (open.has(details.dataset.key)) details.open = open.get(details.dataset.key);
  }
  for (const field of parent.querySelectorAll("[data-draft]")) {
    if (drafts.has(field.dataset.draft)) field.value = drafts.get(field.dataset.draft);
  }
  for (const area of parent.querySelectorAll("[data-scroll]")) {
    [area.scrollTop, area.scrollLeft] = scrolled.get(area.dataset.scroll) ?? [0, 0];
  }
  if (focused !== undefined) parent.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

/** A function that calls `draw(data)` only when the data differ from the last time. */
export function onChange(draw) {
  let last;
  return (...data) => {
    const text = JSON.stringify(data);
    if (text !== last) {
      last = text;
      draw(...data);
    }
  };
}

/** A function that waits until it was not called for `milliseconds`. */
export function debounced(action, milliseconds) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), milliseconds);
  };
}

let counter = 0;

/** An id that nothing else on the page has. */
export function uniqueId(prefix = "id") {
  counter += 1;
  return `${prefix}-${counter}`;
}
