// The worker that sent this page, by the name that statuses call it: of all answers only metrics tell it.
import { root } from "./api.js";

const STARTS = /^kafka_connect_worker_connector_startup_attempts_total\{worker_id="([^"\\]+)"\}/m;
let id = null;

/** Its id, asked for once; null as long as nothing tells it. */
export async function ownWorker(signal) {
  if (id !== null) return id;
  try {
    const answer = await fetch(new URL("metrics", root), { signal, cache: "no-store", credentials: "same-origin" });
    id = STARTS.exec(await answer.text())?.[1] ?? null;
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  return id;
}
