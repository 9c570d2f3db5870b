// JSON without loss: numbers that JavaScript would round stay as they were written.

/** Parse; a number that is not exact here becomes a raw value, which `JSON.stringify` writes as it was. */
export function parse(text) {
  return JSON.parse(text, (key, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value) || !context?.source || !JSON.rawJSON) return value;
    return String(value) === context.source ? value : JSON.rawJSON(context.source);
  });
}

export const compactText = (value) => JSON.stringify(value);
export const readableText = (value) => JSON.stringify(value, null, 2);
