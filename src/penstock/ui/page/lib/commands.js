// What a user would type to do the same: with curl, and with the penstock command.
import { address, pathOf } from "./api.js";
import { shownConfig, shownText } from "./secret_looks.js";
import { userName } from "./users.js";

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/** One word for a POSIX shell. */
export function quoted(word) {
  return PLAIN.test(word) ? word : `'${String(word).replaceAll("'", `'\\''`)}'`;
}

/** The curl command of an operation in one line. */
export const curlOf = (operation) => curlWords(operation).join(" ");

/** The same as people write it: a line for each part, and its body so that it can be read. */
export const curlLines = (operation) => curlWords(operation, 2).join(" \\\n  ");

/** curl asks for the password of the user who is signed in. */
function curlWords(operation, indent) {
  const { method, path, query, body } = covered(operation);
  const user = userName() === null ? "" : `-u ${quoted(userName())} `;
  const words = [`curl ${user}${method === "GET" ? "" : `-X ${method} `}${quoted(`${address}/${pathOf(path, query)}`)}`];
  if (body !== undefined) words.push("-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body, null, indent))}`);
  return words;
}

/** The line of the penstock command; null where the client has none. Names that look like options stand behind `--`. */
export function penstockLine({ cli }) {
  if (!cli) return null;
  const { verb, names, options } = cli;
  const where = ["--url", address];
  const odd = names.some((name) => name.startsWith("-"));
  const words = odd ? [...verb, ...options, ...where, "--", ...names] : [...verb, ...names, ...options, ...where];
  return ["penstock", ...words.map(quoted)].join(" ");
}

/**
 * All that has to be typed for the penstock command: `stdin` is a value that it reads as JSON, `file` one that it
 * reads from the disk.
 */
export function penstockOf(operation) {
  const { stdin, file } = covered(operation);
  const line = penstockLine(operation);
  if (line === null) return null;
  if (file) return `${withText(`cat > ${quoted(file.name)}`, file.text)}\n${line}`;
  return stdin === undefined ? line : withText(line, JSON.stringify(stdin, null, 2));
}

/** The same verb for several names is one command: the client takes many. */
export function penstockOfAll(operations) {
  const [first] = operations;
  const alike = (one) => one.cli && one.stdin === undefined && !one.file && one.cli.names.length === 1 && JSON.stringify([one.cli.verb, one.cli.options]) === JSON.stringify([first.cli.verb, first.cli.options]);
  if (operations.length < 2 || !operations.every(alike)) return operations.map(penstockOf).join("\n");
  return penstockLine({ cli: { ...first.cli, names: operations.map((one) => one.cli.names[0]) } });
}

/** A here-document, ended by a word that is no line of the text. */
function withText(line, text) {
  const lines = new Set(text.split("\n"));
  let end = "EOF";
  while (lines.has(end)) end += "_";
  return `${line} <<'${end}'\n${text.replace(/\n$/, "")}\n${end}`;
}

/** The operation without secrets: for showing, not for sending. */
function covered(operation) {
  const { secrets, texts, body, stdin, file } = operation;
  if (secrets) return { ...operation, body: shownConfig(body, secrets), stdin: shownConfig(stdin, secrets) };
  if (!texts) return operation;
  const hide = (one) => ({ ...one, text: shownText(one.text) });
  return { ...operation, body: { ...body, files: body.files.map(hide) }, file: file && hide(file) };
}
