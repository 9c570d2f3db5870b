// Offsets of sinks that cannot be right: the worker takes them, as Kafka Connect does, and the sink reads all again.
import { get } from "./api.js";
import { plural, whole } from "./format.js";
import { readsTopic } from "./subscription.js";

const OTHER_CLUSTER = "consumer.override.bootstrap.servers";

/**
 * What is wrong with an offset for a sink, as far as the worker tells, and where its topic ends: `{problem, ends}`,
 * each a text or null. Offsets of sources say nothing to anybody else, and to forget one (null) is never wrong.
 */
export async function doubtsOf({ partition, offset }, config, signal) {
  const { kafka_topic: topic, kafka_partition: number } = partition ?? {};
  if (typeof topic !== "string" || offset === null) return { problem: null, ends: null };
  if (readsTopic(config)?.(topic) === false) {
    const subscription = config["topics.regex"] ? `those that match ${config["topics.regex"]}` : config.topics;
    return { problem: `It does not read topic ${topic}. It reads ${subscription}.`, ends: null };
  }
  if (config[OTHER_CLUSTER]) return { problem: null, ends: null };
  let partitions;
  try {
    ({ partitions } = await get(["topics", topic], { signal }));
  } catch (error) {
    if (error.status !== 404) throw error;
    return { problem: `There is no topic ${topic}.`, ends: null };
  }
  const ends = `${topic} ends at ${partitions.map((one) => `${whole(one.end)} (partition ${one.partition})`).join(", ")}.`;
  const found = partitions.find((one) => one.partition === Number(number));
  if (!found) return { problem: `Topic ${topic} has no partition ${number}: it has ${plural(partitions.length, "partition")}, counted from 0.`, ends };
  const beyond = Number(offset.kafka_offset) > found.end;
  return { problem: beyond ? `Offset ${offset.kafka_offset} is beyond the end of the partition, ${found.end}.` : null, ends };
}
