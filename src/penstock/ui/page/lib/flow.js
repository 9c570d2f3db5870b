// How fast records move and how far a sink is behind, from what the API says of offsets; kept while the page is open.
import { get, getOr } from "./api.js";

const KEEP_MS = 10 * 60 * 1000;
const WINDOW_MS = 10_000;

/** A number that only grows, observed from time to time. */
class Counter {
  seen = [];
  rates = [];

  observe(at, total) {
    const last = this.seen.at(-1);
    if (last && total < last.total) this.seen = [];
    this.seen.push({ at, total });
    while (this.seen[0].at < at - KEEP_MS) this.seen.shift();
    const first = this.seen.find((one) => one.at >= at - WINDOW_MS);
    if (first.at < at) this.rates.push({ at, value: ((total - first.total) * 1000) / (at - first.at) });
    while (this.rates.length && this.rates[0].at < at - KEEP_MS) this.rates.shift();
  }

  get now() {
    return this.rates.at(-1)?.value ?? null;
  }
}

const counters = new Map();
const lags = new Map();

function counter(key) {
  if (!counters.has(key)) counters.set(key, new Counter());
  return counters.get(key);
}

export const endOf = (topic) => topic.partitions.reduce((sum, one) => sum + one.end, 0);
export const countOf = (topic) => topic.partitions.reduce((sum, one) => sum + one.end - one.start, 0);

/** Take note of `GET /topics`; the records a second into all of them, and into each by its name. */
export function observeTopics(topics) {
  const at = Date.now();
  for (const topic of topics) counter(`topic ${topic.name}`).observe(at, endOf(topic));
  counter("topics").observe(at, topics.reduce((sum, topic) => sum + endOf(topic), 0));
  return counter("topics");
}

export const topicRate = (name) => counters.get(`topic ${name}`)?.now ?? null;

/**
 * Look at one connector: `{rates, now, lags, lag}`. A sink's records are those it committed, a source's those that
 * its topics got. `lag` is null where it is not known.
 */
export async function observeConnector(name, type, signal) {
  const at = Date.now();
  const topics = new Map((await get(["topics"], { signal })).map((topic) => [topic.name, topic]));
  const moved = counter(`connector ${name}`);
  const behind = lags.get(name) ?? lags.set(name, []).get(name);
  let lag = null;
  if (type === "sink") {
    const { offsets } = await get(["connectors", name, "offsets"], { signal });
    const places = offsets.filter((one) => one.offset && typeof one.partition.kafka_topic === "string");
    moved.observe(at, places.reduce((sum, one) => sum + Number(one.offset.kafka_offset), 0));
    lag = places.reduce((sum, one) => sum + behindOf(one, topics), 0);
    if (places.length) behind.push({ at, value: lag });
  } else {
    const used = await getOr({}, ["connectors", name, "topics"], { signal });
    const names = used[name]?.topics ?? [];
    moved.observe(at, names.reduce((sum, topic) => sum + (topics.has(topic) ? endOf(topics.get(topic)) : 0), 0));
  }
  while (behind.length && behind[0].at < at - KEEP_MS) behind.shift();
  return { rates: moved.rates, now: moved.now, lags: behind, lag };
}

function behindOf({ partition, offset }, topics) {
  const end = topics.get(partition.kafka_topic)?.partitions.find((one) => one.partition === partition.kafka_partition)?.end;
  return end === undefined ? 0 : Math.max(0, end - Number(offset.kafka_offset));
}
