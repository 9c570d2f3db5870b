// Everything the page can do or ask, each as one request and one command.
//
// `secrets` are keys of a configuration that are declared as passwords: an operation that has them carries a
// configuration, and `texts` one that carries files. What is secret in either is not shown in commands.

/** A penstock command: its words, the names behind them, and options. */
const run = (verb, names = [], options = []) => ({ verb: verb.split(" "), names, options });
const connector = (name, ...more) => ["connectors", name, ...more];

export const listConnectors = () => ({
  label: "List connectors", method: "GET", path: ["connectors"], query: { expand: ["status", "info", "health"] },
  cli: run("get connectors"),
});
export const showConnector = (name) => ({
  label: `Show ${name}`, method: "GET", path: connector(name, "status"), cli: run("describe", [name]),
});
export const showLog = (name, lines = "200") => ({
  label: `Recent log of ${name}`, method: "GET", path: connector(name, "logs"), query: { lines },
  cli: run("logs", [name], ["--lines", lines]),
});
export const showConfig = (name) => ({
  label: `Show the configuration of ${name}`, method: "GET", path: connector(name, "config"), cli: run("describe", [name], ["--output", "json"]),
});
export const showTasks = (name) => ({
  label: `Show the tasks of ${name}`, method: "GET", path: connector(name, "tasks"), cli: null,
});
export const pause = (name) => ({
  label: `Pause ${name}`, method: "PUT", path: connector(name, "pause"), cli: run("pause", [name]),
});
export const resume = (name) => ({
  label: `Resume ${name}`, method: "PUT", path: connector(name, "resume"), cli: run("resume", [name]),
});
export const stop = (name) => ({
  label: `Stop ${name}`, method: "PUT", path: connector(name, "stop"), cli: run("stop", [name]),
});
export const restart = (name) => ({
  label: `Restart ${name} with its tasks`, method: "POST", path: connector(name, "restart"),
  query: { includeTasks: "true" }, cli: run("restart", [name], ["--tasks"]),
});
export const restartFailed = (name) => ({
  label: `Restart what failed in ${name}`, method: "POST", path: connector(name, "restart"),
  query: { includeTasks: "true", onlyFailed: "true" }, cli: run("restart", [name], ["--failed"]),
});
export const restartTask = (name, task) => ({
  label: `Restart task ${task} of ${name}`, method: "POST", path: connector(name, "tasks", String(task), "restart"),
  cli: run("restart", [name], ["--task", String(task)]),
});
export const remove = (name, withOffsets = false) => ({
  label: `Delete ${name}`, method: "DELETE", path: connector(name),
  query: withOffsets ? { includeOffsets: "true" } : {},
  cli: run("delete", [name], ["--yes", ...(withOffsets ? ["--with-offsets"] : [])]),
});
export const create = (name, config, initialState, secrets = new Set()) => ({
  label: `Create ${name}`, method: "POST", path: ["connectors"],
  body: initialState === "RUNNING" ? { name, config } : { name, config, initial_state: initialState },
  cli: run("create", [], ["-f", "-", ...(initialState === "RUNNING" ? [] : [`--${initialState.toLowerCase()}`])]),
  stdin: { name, config }, secrets,
});
export const putConfig = (name, config, secrets = new Set()) => ({
  label: `Save the configuration of ${name}`, method: "PUT", path: connector(name, "config"), body: config,
  cli: run("apply", [], ["-f", "-"]), stdin: { name, config }, secrets,
});
export const showOffsets = (name) => ({
  label: `Offsets of ${name}`, method: "GET", path: connector(name, "offsets"), cli: run("offsets get", [name]),
});
/** `force`: also where they cannot be right, which the client asks for. */
export const setOffsets = (name, offsets, force = false) => ({
  label: `Set offsets of ${name}`, method: "PATCH", path: connector(name, "offsets"), body: { offsets },
  cli: run("offsets set", [name], ["--file", "-", ...(force ? ["--force"] : [])]), stdin: { offsets },
});
export const resetOffsets = (name) => ({
  label: `Reset the offsets of ${name}`, method: "DELETE", path: connector(name, "offsets"), cli: run("offsets reset", [name]),
});
export const showLifecycle = (name) => ({
  label: `Lifecycle of ${name}`, method: "GET", path: connector(name, "lifecycle"), cli: run("lifecycle show", [name]),
});
export const giveUpCleanup = (id) => ({
  label: `Give up clean-up ${id}`, method: "DELETE", path: ["lifecycle", "cleanups", id], cli: run("lifecycle give-up", [id], ["--yes"]),
});
export const showTopicsOf = (name) => ({
  label: `Topics of ${name}`, method: "GET", path: connector(name, "topics"), cli: run("get topics", [name]),
});
export const resetTopics = (name) => ({
  label: `Forget the topics of ${name}`, method: "PUT", path: connector(name, "topics", "reset"), cli: run("topics forget", [name]),
});
export const showDeadLetters = (name, after, limit = "100") => ({
  label: `Dead letters of ${name}`, method: "GET", path: connector(name, "dead-letters"), query: { limit, after },
  cli: run("dlq list", [name], ["--limit", limit, ...(after ? ["--after", after] : [])]),
});
export const replayAll = (name) => ({
  label: `Replay all dead letters of ${name}`, method: "POST", path: connector(name, "dead-letters", "replay"),
  body: { all: true }, cli: run("dlq replay", [name], ["--all"]),
});
export const replaySome = (name, ids) => ({
  label: `Replay ${ids.length} dead letters of ${name}`, method: "POST", path: connector(name, "dead-letters", "replay"),
  body: { dead_letters: ids.map((id) => ({ id })) }, cli: run("dlq replay", [name, ...ids]),
});
export const replayMended = (name, id, value) => ({
  label: `Replay dead letter ${id} of ${name} with another value`, method: "POST",
  path: connector(name, "dead-letters", "replay"), body: { dead_letters: [{ id, value: { text: value } }] },
  cli: run("dlq replay", [name, id], ["--value", value]),
});
export const listTopics = () => ({ label: "List topics", method: "GET", path: ["topics"], cli: run("topics list") });
/** `from` are offsets, as in `0:17,1:4`; `begin` are the options that make the client begin there. */
export const tailTopic = (topic, from, begin = []) => ({
  label: `Records of ${topic}`, method: "GET", path: ["topics", topic, "records"], query: { from },
  cli: run("topics tail", [topic], begin),
});
export const listPipelines = () => ({
  label: "Pipelines", method: "GET", path: ["pipelines"], cli: run("get pipelines"),
});
/**
 * The client calls a file by its absolute path, or by a source and its name: other names it cannot give. A text that
 * is not `onDisk` has to be written there first.
 */
function fileCommand(verb, { file, text, onDisk }, options) {
  const [, source, name] = /^(?:(.+)\/)?([^/]+)$/.exec(file) ?? [];
  if (!source || file.startsWith("/")) return { cli: null, texts: true };
  return { cli: run(verb, [name], ["--source", source, ...options]), file: onDisk ? undefined : { name, text }, texts: true };
}
const filesOf = ({ file, text }) => ({ files: [{ file, text }], paths: [file] });

/** `pipeline` is `{file, text, onDisk}`. */
export const plan = (pipeline, adopt) => ({
  label: `Plan ${pipeline.file}`, method: "POST", path: ["pipelines", "plan"],
  body: { ...filesOf(pipeline), adopt }, ...fileCommand("plan", pipeline, adopt ? ["--adopt"] : []),
});
export const apply = (pipeline, adopt, hash) => ({
  label: `Apply ${pipeline.file}`, method: "POST", path: ["pipelines", "apply"],
  body: { ...filesOf(pipeline), adopt, plan: hash },
  ...fileCommand("apply", pipeline, ["--plan", hash, ...(adopt ? ["--adopt"] : [])]),
});
export const listPlugins = () => ({
  label: "Plugins", method: "GET", path: ["connector-plugins"], cli: run("get plugins"),
});
/** `verb` is `create` for a new connector and `apply` for one that is there. */
export const validate = (plugin, config, verb = "create", secrets = new Set()) => ({
  label: `Check a configuration of ${plugin}`, method: "PUT", path: ["connector-plugins", plugin, "config", "validate"],
  body: config, cli: run(verb, [], ["-f", "-", "--dry-run"]), stdin: { name: config.name ?? "", config }, secrets,
});
export const listLoggers = () => ({ label: "Log levels", method: "GET", path: ["admin", "loggers"], cli: run("loggers list") });
export const setLogger = (logger, level, cluster) => ({
  label: `Set ${logger} to ${level}`, method: "PUT", path: ["admin", "loggers", logger], body: { level },
  query: cluster ? { scope: "cluster" } : {}, cli: run("loggers set", [logger, level], cluster ? ["--cluster"] : []),
});
