// How many dead letters of a connector were not replayed yet.
import { get } from "./api.js";

const PAGE = 100;
const PAGES_AT_ONCE = 10;

/** Counts one page of them, which is as far as anybody counts; pages that were replayed as a whole are read once. */
export class OpenLetters {
  #after;

  constructor(name, signal) {
    this.name = name;
    this.signal = signal;
  }

  /** `3`, `100+`, or an empty text when there are none. */
  async count() {
    for (let pages = 0; pages < PAGES_AT_ONCE; pages += 1) {
      const { dead_letters: letters, next } = await get(["connectors", this.name, "dead-letters"], { query: { limit: PAGE, after: this.#after }, signal: this.signal });
      const open = letters.filter((letter) => !letter.replayed).length;
      if (open || !next) return open ? `${open}${next ? "+" : ""}` : "";
      this.#after = next;
    }
    return "";
  }
}
