// Following a topic: where it begins, what has come since, never more than a window of it.
import { get } from "./api.js";

export const KEEP = 500;
const PAGE = 200;

/**
 * Records of a topic from a chosen place on, newest last. After the first question `from` are the offsets it began at,
 * and `options` those that make the client begin there.
 */
export class Tail {
  records = [];
  from = null;
  options = [];
  next = null;
  dropped = 0;

  constructor(topic, start, signal) {
    this.topic = topic;
    this.start = start;
    this.signal = signal;
  }

  /** Ask once; how many records came. */
  async ask() {
    this.from ??= await this.#begin();
    this.next ??= this.from;
    const page = await get(["topics", this.topic, "records"], { query: { from: this.next, limit: PAGE }, signal: this.signal });
    this.next = page.next;
    this.more = page.more;
    this.records.push(...page.records);
    const extra = Math.max(0, this.records.length - KEEP);
    this.records.splice(0, extra);
    this.dropped += extra;
    return page.records.length;
  }

  async #begin() {
    const { partitions } = await get(["topics", this.topic], { signal: this.signal });
    if (this.start === "recent") {
      const each = Math.max(1, Math.floor(100 / Math.max(1, partitions.length)));
      this.options = ["--last", String(each)];
      return partitions.map((one) => `${one.partition}:${Math.max(one.start, one.end - each)}`).join(",");
    }
    this.options = this.start === "latest" ? ["--last", "0"] : ["--since", this.start];
    if (this.start === "earliest") return partitions.map((one) => `${one.partition}:${one.start}`).join(",");
    const { offsets } = await get(["topics", this.topic, "offsets"], { query: { at: this.start }, signal: this.signal });
    return offsets.map((offset, partition) => `${partition}:${offset}`).join(",");
  }
}
