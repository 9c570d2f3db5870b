// Which topics a sink reads, as far as its configuration tells.

/** A test of the name of a topic; null where only the worker understands what is set. */
export function readsTopic(config) {
  const [topics, pattern] = [config.topics ?? "", config["topics.regex"] ?? ""];
  if (`${topics}${pattern}`.includes("${") || !(topics || pattern)) return null;
  if (!pattern) {
    const names = new Set(topics.split(",").map((name) => name.trim()));
    return (name) => names.has(name);
  }
  try {
    const regex = new RegExp(`^(?:${pattern})$`);
    return (name) => regex.test(name);
  } catch {
    return null;
  }
}
