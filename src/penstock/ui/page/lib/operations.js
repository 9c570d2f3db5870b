// Everything the page can do or ask, each as one request and one command.

const connector = (name, ...more) => ["connectors", name, ...more];

export const listConnectors = () => ({
  label: "List connectors", method: "GET", path: ["connectors"], query: { expand: ["status", "info", "health"] },
  cli: ["get", "connectors"],
});
export const showConnector = (name) => ({
  label: `Show ${name}`, method: "GET", path: connector(name, "status"), cli: ["describe", name],
});
export const showLog = (name) => ({
  label: `Recent log of ${name}`, method: "GET", path: connector(name, "logs"), cli: ["logs", name],
});
export const showConfig = (name) => ({
  label: `Show the configuration of ${name}`, method: "GET", path: connector(name, "config"), cli: ["describe", name, "--output", "json"],
});
export const pause = (name) => ({
  label: `Pause ${name}`, method: "PUT", path: connector(name, "pause"), cli: ["pause", name],
});
export const resume = (name) => ({
  label: `Resume ${name}`, method: "PUT", path: connector(name, "resume"), cli: ["resume", name],
});
export const stop = (name) => ({
  label: `Stop ${name}`, method: "PUT", path: connector(name, "stop"), cli: ["stop", name],
});
export const restart = (name) => ({
  label: `Restart ${name} with its tasks`, method: "POST", path: connector(name, "restart"),
  query: { includeTasks: "true" }, cli: ["restart", name, "--tasks"],
});
export const restartFailed = (name) => ({
  label: `Restart what failed in ${name}`, method: "POST", path: connector(name, "restart"),
  query: { includeTasks: "true", onlyFailed: "true" }, cli: ["restart", name, "--failed"],
});
export const restartTask = (name, task) => ({
  label: `Restart task ${task} of ${name}`, method: "POST", path: connector(name, "tasks", String(task), "restart"),
  cli: ["restart", name, "--task", String(task)],
});
export const remove = (name, withOffsets = false) => ({
  label: `Delete ${name}`, method: "DELETE", path: connector(name),
  query: withOffsets ? { includeOffsets: "true" } : {},
  cli: ["delete", name, "--yes", ...(withOffsets ? ["--with-offsets"] : [])],
});
export const create = (name, config, initialState) => ({
  label: `Create ${name}`, method: "POST", path: ["connectors"],
  body: initialState === "RUNNING" ? { name, config } : { name, config, initial_state: initialState },
  cli: ["create", "-f", "-", ...(initialState === "RUNNING" ? [] : [`--${initialState.toLowerCase()}`])],
  stdin: { name, config },
});
export const putConfig = (name, config) => ({
  label: `Save the configuration of ${name}`, method: "PUT", path: connector(name, "config"), body: config,
  cli: ["apply", "-f", "-"], stdin: { name, config },
});
export const showOffsets = (name) => ({
  label: `Offsets of ${name}`, method: "GET", path: connector(name, "offsets"), cli: ["offsets", "get", name],
});
export const setOffsets = (name, offsets) => ({
  label: `Set offsets of ${name}`, method: "PATCH", path: connector(name, "offsets"), body: { offsets },
  cli: ["offsets", "set", name, "--file", "-"], stdin: { offsets },
});
export const resetOffsets = (name) => ({
  label: `Reset the offsets of ${name}`, method: "DELETE", path: connector(name, "offsets"), cli: ["offsets", "reset", name],
});
export const showLifecycle = (name) => ({
  label: `Lifecycle of ${name}`, method: "GET", path: connector(name, "lifecycle"), cli: ["lifecycle", "show", name],
});
export const giveUpCleanup = (id) => ({
  label: `Give up clean-up ${id}`, method: "DELETE", path: ["lifecycle", "cleanups", id], cli: ["lifecycle", "give-up", id, "--yes"],
});
export const showTopicsOf = (name) => ({
  label: `Topics of ${name}`, method: "GET", path: connector(name, "topics"), cli: ["get", "topics", name],
});
export const resetTopics = (name) => ({
  label: `Forget the topics of ${name}`, method: "PUT", path: connector(name, "topics", "reset"), cli: ["topics", "forget", name],
});
export const showDeadLetters = (name) => ({
  label: `Dead letters of ${name}`, method: "GET", path: connector(name, "dead-letters"), cli: ["dlq", "list", name],
});
export const replayAll = (name) => ({
  label: `Replay all dead letters of ${name}`, method: "POST", path: connector(name, "dead-letters", "replay"),
  body: { all: true }, cli: ["dlq", "replay", name, "--all"],
});
export const replaySome = (name, ids) => ({
  label: `Replay ${ids.length} dead letters of ${name}`, method: "POST", path: connector(name, "dead-letters", "replay"),
  body: { dead_letters: ids.map((id) => ({ id })) }, cli: ["dlq", "replay", name, ...ids],
});
export const replayMended = (name, id, value) => ({
  label: `Replay dead letter ${id} of ${name} with another value`, method: "POST",
  path: connector(name, "dead-letters", "replay"), body: { dead_letters: [{ id, value: { text: value } }] },
  cli: ["dlq", "replay", name, id, "--value", value],
});
export const listTopics = () => ({ label: "List topics", method: "GET", path: ["topics"], cli: ["topics", "list"] });
export const tailTopic = (topic, from) => ({
  label: `Records of ${topic}`, method: "GET", path: ["topics", topic, "records"], query: { from },
  cli: ["topics", "tail", topic],
});
export const listPipelines = () => ({
  label: "Pipelines", method: "GET", path: ["pipelines"], cli: ["get", "pipelines"],
});
export const plan = (file, text, adopt) => ({
  label: `Plan ${file}`, method: "POST", path: ["pipelines", "plan"],
  body: { files: [{ file, text }], paths: [file], adopt }, cli: ["plan", file, ...(adopt ? ["--adopt"] : [])],
});
export const apply = (file, text, adopt, hash) => ({
  label: `Apply ${file}`, method: "POST", path: ["pipelines", "apply"],
  body: { files: [{ file, text }], paths: [file], adopt, plan: hash },
  cli: ["apply", file, "--plan", hash, ...(adopt ? ["--adopt"] : [])],
});
export const listPlugins = () => ({
  label: "Plugins", method: "GET", path: ["connector-plugins"], cli: ["get", "plugins"],
});
export const validate = (plugin, config) => ({
  label: `Check a configuration of ${plugin}`, method: "PUT", path: ["connector-plugins", plugin, "config", "validate"],
  body: config, cli: ["create", "-f", "-", "--dry-run"], stdin: config,
});
export const listLoggers = () => ({ label: "Log levels", method: "GET", path: ["admin", "loggers"], cli: ["loggers", "list"] });
export const setLogger = (logger, level, cluster) => ({
  label: `Set ${logger} to ${level}`, method: "PUT", path: ["admin", "loggers", logger], body: { level },
  query: cluster ? { scope: "cluster" } : {}, cli: ["loggers", "set", logger, level, ...(cluster ? ["--cluster"] : [])],
});
export const workerInfo = () => ({ label: "The worker", method: "GET", path: [], cli: ["get", "connectors"] });
