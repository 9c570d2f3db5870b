// Whether the worker asks who one is. The browser answers that by itself, and tells the page neither that nor the name.
import { root } from "./api.js";

let found = null;

export const hasUsers = () => found === true;

/** Ask once as nobody, which a worker with users refuses. True when this was news. */
export async function learnOfUsers() {
  if (found !== null) return false;
  const answer = await fetch(new URL("connectors", root), { method: "HEAD", credentials: "omit", cache: "no-store" });
  found = answer.status === 401;
  return found;
}
