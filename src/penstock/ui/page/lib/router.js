// Views by the fragment of the address: `#/connectors/orders/config?q=x`. Links and the back button just work.

/** `{parts: ["connectors", "orders"], query: URLSearchParams}` of the present address. */
export function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts, query: new URLSearchParams(query ?? "") };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view. */
export function link(parts, query) {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value);
  const tail = pairs.length ? `?${new URLSearchParams(pairs)}` : "";
  return `#/${parts.map(encodeURIComponent).join("/")}${tail}`;
}

export function go(parts, query) {
  location.hash = link(parts, query);
}

/** Change the address without a new view: for filters, so that a reload and a link keep them. */
export function remember(parts, query) {
  history.replaceState(null, "", link(parts, query));
}
