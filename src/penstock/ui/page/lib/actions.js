// Doing an operation: send it, tell how it went, remember it with its commands.
import { call } from "./api.js";
import { announce, toast } from "./notices.js";

const listeners = new Set();
const history = [];

/** Everything done on this page since it was opened, newest first: `{operation, at, error}`. */
export const done = () => history;

/** Be told when something was done, or (with `previewed`) is about to be. */
export function onActivity(listener) {
  listeners.add(listener);
}

function tell(kind, operation, error) {
  for (const listener of listeners) listener(kind, operation, error);
}

/** Show the commands of an operation that the user is looking at. */
export function preview(operation) {
  tell("preview", operation);
}

/** What the present view itself asks; shown while nothing else is. */
export function viewing(operation) {
  tell("view", operation);
}

/** Carry out an operation. Returns its answer; on failure tells the user and raises. */
export async function perform(operation, { quiet = false } = {}) {
  try {
    const answer = await call(operation.method, operation.path, { query: operation.query, body: operation.body });
    history.unshift({ operation, at: new Date() });
    tell("done", operation);
    if (!quiet) toast(`${operation.label}: done`);
    else announce(`${operation.label}: done`);
    return answer;
  } catch (error) {
    history.unshift({ operation, at: new Date(), error: error.message });
    tell("failed", operation, error);
    if (!quiet) toast(`${operation.label} failed. ${error.message}`, true);
    throw error;
  }
}

/** Listeners for a button, so that its commands are seen before it is pressed. `operation` is called at that time. */
export function previewing(operation) {
  const show = () => preview(operation());
  const hide = () => preview(null);
  return { onmouseenter: show, onfocus: show, onmouseleave: hide, onblur: hide };
}
