// Numbers, times and names as people read them.
import { parse, readableText } from "./exact_json.js";

const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const FULL = new Intl.NumberFormat("en");

export const whole = (value) => FULL.format(value);

export function rate(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  return value < 10 ? value.toFixed(1) : SHORT.format(Math.round(value));
}

export const compact = (value) => (value === null || value === undefined ? "–" : SHORT.format(value));

/** A class as people call it: what is behind its last dot or colon. */
export const shortClass = (name) => (name ?? "").split(/[.:]/).pop();

export function clock(milliseconds) {
  return new Date(milliseconds).toLocaleTimeString("en-GB", { hour12: false });
}

export function moment(milliseconds) {
  const date = new Date(milliseconds);
  return `${date.toLocaleDateString("en-CA")} ${date.toLocaleTimeString("en-GB", { hour12: false })}`;
}

export function ago(milliseconds) {
  const seconds = Math.max(0, Math.round((Date.now() - milliseconds) / 1000));
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h ago` : `${Math.round(seconds / 86_400)} days ago`;
}

export const plural = (count, one, many = `${one}s`) => `${whole(count)} ${count === 1 ? one : many}`;

/** The first line of a trace that says what went wrong: the last one of a Python trace. */
export function reason(trace) {
  const lines = (trace ?? "").trim().split("\n").filter((line) => line.trim());
  const last = lines.filter((line) => !/^\s/.test(line)).pop();
  return withoutModules(last ?? lines.pop() ?? "").slice(0, 300);
}

/** A text in which errors have their names without what is before the last dot. */
export const withoutModules = (text) => text.replace(/\b(?:\w+\.)+(?=[A-Z]\w*(?:Error|Exception)\b)/g, "");

/** `{text}` or `{base64}` of the API to text. */
export function dataText(data) {
  if (data === null || data === undefined) return "null";
  return data.text ?? `base64: ${data.base64}`;
}

/** JSON in a readable form; other text as it is. */
export function pretty(text) {
  try {
    return readableText(parse(text));
  } catch {
    return text;
  }
}
