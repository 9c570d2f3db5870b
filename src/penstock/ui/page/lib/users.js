// Who is signed in, and what he may do, as far as the worker tells users apart.
import { get } from "./api.js";

let found = null;

/** Ask once; the next call asks again when the worker could not be reached. True when there is news. */
export async function learnWhoAsks() {
  if (found !== null) return false;
  found = await get(["user"]);
  return true;
}

/** The user's name; null where everybody may do everything. */
export const userName = () => found?.name ?? null;

/** Whether he may change anything: taken for granted until the worker has said otherwise. */
export const mayChange = () => found === null || found.role === "admin";

/** Why he may not, in the words of the worker. */
export const whyNot = () => `${userName() ?? "Who is not signed in"} may only read: this needs the role admin.`;

/** Something that only makes sense for who may change things, or nothing. */
export const forChanging = (make) => (mayChange() ? make() : null);
