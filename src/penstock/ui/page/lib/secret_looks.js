// What looks like a secret in a configuration: the same rule as the worker and the command line have.

export const HIDDEN = "[hidden]";

const SECRET =
  "password|passwd|passphrase|secret|token|credential|authorization|cookie|api[._\\-]?key|private[._\\-]?key|jaas" +
  "|keystore[._\\-]?key|user[._\\-]?info";
const SUSPICIOUS = new RegExp(SECRET, "iu");
const IN_URL = /(?<=:\/\/)([^\s/:@]*:)[^\s/]+(?=@)/gu;
const WORD = "[^\\s=?&;,]{0,64}";
const PARAMETER = new RegExp(`((?:^|[?&;,\\s])${WORD}(?:${SECRET})${WORD}=)(?!\\$\\{)[^\\s&;]+`, "giu");
const REFERENCE = /^\$\{[^{}]*\}$/u;
const QUOTED = `"(?:[^"\\\\]|\\\\.)*"|'(?:[^']|'')*'`;
const ENTRY = new RegExp(`(["']?)([^\\s"'{},:]{0,64}(?:${SECRET})[^\\s"'{},:]{0,64})\\1(\\s*:[ \\t]+|:(?=["']))(${QUOTED}|[^\\s"'{[,][^\\n,}]*)`, "giu");
const NONE = new Set();

/** Whether a key is called like a secret, or `declared` as one; references such as `${env:X}` tell nothing. */
export function isSecret(key, value, declared = NONE) {
  return !REFERENCE.test(value) && (declared.has(key) || SUSPICIOUS.test(key));
}

/** A value as anybody may see it: hidden if it is a secret, without passwords if it is a URL. */
export function shown(key, value, declared = NONE) {
  if (typeof value !== "string") return value;
  if (isSecret(key, value, declared)) return HIDDEN;
  return value.replace(IN_URL, `$1${HIDDEN}`).replace(PARAMETER, `$1${HIDDEN}`);
}

/** A configuration as anybody may see it; also one in other objects. */
export function shownConfig(config, declared = NONE) {
  if (Array.isArray(config)) return config.map((one) => shownConfig(one, declared));
  if (config === null || typeof config !== "object" || JSON.isRawJSON?.(config)) return config;
  return Object.fromEntries(
    Object.entries(config).map(([key, one]) => [key, typeof one === "string" ? shown(key, one, declared) : shownConfig(one, declared)]),
  );
}

/** The text of a YAML or JSON file as anybody may see it. */
export function shownText(text) {
  const plain = text.replace(ENTRY, (all, quote, key, between, value) =>
    /^["']?\$\{[^{}]*\}?["']?$/u.test(value.trim()) ? all : `${quote}${key}${quote}${between}"${HIDDEN}"`);
  return shown("", plain);
}
