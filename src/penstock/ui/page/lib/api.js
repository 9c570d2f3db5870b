// The REST API of the worker that sent this page. Paths are lists of segments, encoded here and nowhere else.
import { parse } from "./exact_json.js";

export const root = new URL("../", document.baseURI);

/** The address of the API as a user would type it, without a slash at its end. */
export const address = root.href.replace(/\/$/, "");

/** A request that failed. `status` is 0 when the worker could not be reached. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** `["connectors", "a b"]` and `{expand: ["info"]}` to `connectors/a%20b?expand=info`. */
export function pathOf(segments, query) {
  const path = segments.map(encodeURIComponent).join("/");
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const parameters = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return parameters.length ? `${path}?${new URLSearchParams(parameters)}` : path;
}

/** Send a request; the decoded answer, or null without one. Raises `ApiError`; an abort stays an `AbortError`. */
export async function call(method, segments, { query, body, signal } = {}) {
  const options = { method, signal, headers: { Accept: "application/json" }, cache: "no-store", credentials: "same-origin" };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(new URL(pathOf(segments, query), root), options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The worker cannot be reached.");
  }
  const text = await answer.text();
  const data = decoded(text);
  if (!answer.ok) throw new ApiError(answer.status, messageOf(answer, data, text));
  return data;
}

function decoded(text) {
  if (!text) return null;
  try {
    return parse(text);
  } catch {
    return null;
  }
}

function messageOf(answer, data, text) {
  if (answer.status === 401) return "The worker wants to know who you are. Reload the page to sign in.";
  return data?.message || text.slice(0, 500) || `HTTP ${answer.status} ${answer.statusText}`;
}

export const get = (segments, options) => call("GET", segments, options);

/** The answer of a GET, or `otherwise` when there is no such thing (404) or it is not allowed (403). */
export async function getOr(otherwise, segments, options) {
  try {
    return await get(segments, options);
  } catch (error) {
    if (error.status === 404 || error.status === 403) return otherwise;
    throw error;
  }
}
