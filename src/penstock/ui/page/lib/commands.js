// What a user would type to do the same: with curl, and with the penstock command.
import { address, pathOf } from "./api.js";

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;
const DEFAULT_ADDRESSES = new Set(["http://localhost:8083", "http://127.0.0.1:8083"]);

/** One word for a POSIX shell. */
export function quoted(word) {
  return PLAIN.test(word) ? word : `'${String(word).replaceAll("'", `'\\''`)}'`;
}

/** The curl command of an operation. */
export function curlOf({ method, path, query, body }) {
  const words = ["curl"];
  if (method !== "GET") words.push("-X", method);
  words.push(quoted(`${address}/${pathOf(path, query)}`));
  if (body !== undefined) words.push("-H", "'Content-Type: application/json'", "-d", quoted(JSON.stringify(body)));
  return words.join(" ");
}

/** The penstock command of an operation; `stdin` is a value that it reads as JSON. */
export function penstockOf({ cli, stdin }) {
  const where = DEFAULT_ADDRESSES.has(address) ? [] : ["--url", quoted(address)];
  const line = ["penstock", ...cli.map(quoted), ...where].join(" ");
  return stdin === undefined ? line : `${line} <<'EOF'\n${typeof stdin === "string" ? stdin : JSON.stringify(stdin, null, 2)}\nEOF`;
}

/** The curl command without the values that a password field gave: for showing, not for sending. */
export function masked(operation, secrets) {
  if (!secrets?.size) return operation;
  const hide = (value) => {
    if (Array.isArray(value)) return value.map(hide);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, secrets.has(key) && typeof one === "string" ? "…" : hide(one)]),
    );
  };
  return { ...operation, body: hide(operation.body), stdin: operation.stdin === undefined ? undefined : hide(operation.stdin) };
}
