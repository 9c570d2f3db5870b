// How fast records move and how far a sink is behind, from what the API says of offsets; kept while the page is open.
import { get, getOr } from "./api.js";
import { readsTopic } from "./subscription.js";

const KEEP_MS = 10 * 60 * 1000;
const WINDOW_MS = 10_000;
const RESET = "consumer.override.auto.offset.reset";

/** Numbers that only grow, such as offsets of partitions, observed from time to time; how fast they grow together. */
class Counter {
  seen = [];
  rates = [];
  #parts = new Map();
  #total = 0;

  /** `parts` are numbers by name. One that is new, or smaller than before, has not moved: it is counted from there. */
  observe(at, parts) {
    for (const [name, value] of parts) this.#total += Math.max(0, value - (this.#parts.get(name) ?? value));
    this.#parts = new Map(parts);
    const total = this.#total;
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

export const countOf = (topic) => topic.partitions.reduce((sum, one) => sum + one.end - one.start, 0);

const endsOf = (topics) => topics.flatMap((topic) => topic.partitions.map((one) => [`${topic.name}-${one.partition}`, one.end]));

/** Take note of one topic, for `topicRate`. */
export function observeTopic(topic, at = Date.now()) {
  counter(`topic ${topic.name}`).observe(at, endsOf([topic]));
}

/** Take note of `GET /topics`; the records a second into all of them. */
export function observeTopics(topics) {
  const at = Date.now();
  for (const topic of topics) observeTopic(topic, at);
  counter("topics").observe(at, endsOf(topics));
  return counter("topics");
}

export const topicRate = (name) => counters.get(`topic ${name}`)?.now ?? null;

/**
 * Look at one connector: `{rates, now, lags, lag, topics}`. A sink's records are those it committed, a source's those that
 * its topics got. `lag` is null where it is not known. `topics` are those it reads or has written to, with their records.
 */
export async function observeConnector({ name, config, type }, signal) {
  const at = Date.now();
  const topics = await get(["topics"], { signal });
  const moved = counter(`connector ${name}`);
  const behind = lags.get(name) ?? lags.set(name, []).get(name);
  let lag = null;
  let own = [];
  if (type === "sink") {
    const { offsets } = await get(["connectors", name, "offsets"], { signal });
    const places = offsets.filter((one) => one.offset && typeof one.partition.kafka_topic === "string");
    const committed = new Map(places.map(({ partition, offset }) => [`${partition.kafka_topic}-${partition.kafka_partition}`, Number(offset.kafka_offset)]));
    moved.observe(at, committed);
    const reads = readsTopic(config);
    own = topics.filter((topic) => reads?.(topic.name));
    lag = lagOf(own, committed, config[RESET] === "latest");
    if (lag !== null) behind.push({ at, value: lag });
  } else {
    const used = await getOr({}, ["connectors", name, "topics"], { signal });
    const names = new Set(used[name]?.topics);
    own = topics.filter((topic) => names.has(topic.name));
    moved.observe(at, endsOf(own));
  }
  while (behind.length && behind[0].at < at - KEEP_MS) behind.shift();
  return { rates: moved.rates, now: moved.now, lags: behind, lag, topics: own.map((topic) => ({ name: topic.name, count: countOf(topic) })) };
}

/**
 * Records that a sink has to read yet: of a partition without an offset all of them, as it begins at the start. Null
 * where there is no topic, where an offset is beyond the end, and for a sink that begins `atEnd`, while nothing tells where that was.
 */
function lagOf(topics, committed, atEnd) {
  const partitions = topics.flatMap((topic) => topic.partitions.map((one) => ({ ...one, offset: committed.get(`${topic.name}-${one.partition}`) })));
  if (!partitions.length || partitions.some((one) => one.offset > one.end) || (atEnd && partitions.some((one) => one.offset === undefined))) return null;
  return partitions.reduce((sum, { start, end, offset = start }) => sum + Math.max(0, end - Math.max(start, offset)), 0);
}
