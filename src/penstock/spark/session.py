"""The one Spark session of a worker: started with settings that suit many small batches, stopped without a trace."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from .class_archive import archive_option
from .executors import ExecutorCount, Executors
from .java import Java, find_java, java_home_for_spark
from .lane_tls import NoEncryptionError, check_encryption
from .risky_settings import risky_settings
from .shipping import DAEMON_KEY, DECIDING_DAEMON, DECIDING_FILE, OUR_DAEMON, shipped_settings

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

SLOTS_PER_CORE = 4
QUICK_START_OPTIONS = "-XX:+UseSerialGC -XX:-UsePerfData"
"""The serial collector starts a second sooner than the default one. Compilation stays whole: without its last stage
(``-XX:TieredStopAtLevel=1``) Spark is up sooner still, but computes on DataFrames ten times slower."""

LONGEST_SOCKET_FOLDER = 60
"""A Unix socket path has room for about 100 bytes, of which the file name takes 42."""

LONGEST_FAREWELL = "60s"
"""What is left to an executor that Spark decommissions, which waits for its tasks: twice what its lanes need to end."""

LOG_CONFIG = """\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {folder}/spark.log
appender.file.filePattern = {folder}/spark.%i.log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{yyyy-MM-dd HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
appender.file.policies.type = SizeBasedTriggeringPolicy
appender.file.policies.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
logger.expected.name = org.apache.hadoop.util.NativeCodeLoader
logger.expected.level = error
logger.hostname.name = org.apache.spark.util.Utils
logger.hostname.level = error
logger.pools.name = org.apache.spark.scheduler.FairSchedulableBuilder
logger.pools.level = error
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
"""


class SparkStartError(RuntimeError):
    """Spark did not start; the text says why, with the last lines it logged."""


class SparkEngine:
    """A running Spark. ``size`` is what it has of executors, as of the last count."""

    def __init__(self, context: SparkContext, folder: Path, sockets: Path) -> None:
        self.context = context
        self._counter = None if self.is_local else _counter(context)
        self.size = Executors(1, 1, 1)
        self.may_decommission = context.getConf().get("spark.decommission.enabled", "").lower() == "true"
        self.count_slots()
        self.sockets = sockets
        self._folders = {folder, sockets}
        self._process: subprocess.Popen[bytes] = context._gateway.proc  # type: ignore[union-attr]
        self._session: SparkSession | None = None
        self._lock = threading.Lock()

    @property
    def is_local(self) -> bool:
        """Whether executors live in this machine's driver process."""
        return is_local(str(self.context.master))

    @property
    def settings(self) -> dict[str, str]:
        """What is in force: the worker's keys, ours, and those of ``spark-defaults.conf``."""
        return dict(self.context.getConf().getAll())

    def is_alive(self) -> bool:
        """Whether the JVM still runs."""
        return self._process.poll() is None

    def wait_until_dead(self) -> None:
        """Blocks for as long as the JVM runs."""
        self._process.wait()

    def count_slots(self) -> None:
        """Look at the executors there are now; on a cluster they come and go."""
        if self._counter is not None:
            self.size = self._counter.now()
        else:
            slots = int(self.context.defaultParallelism)
            self.size = Executors(1, slots, slots)

    @property
    def slots(self) -> int:
        """How many tasks it may hold at once."""
        return self.size.slots

    @property
    def cores(self) -> int:
        """How many tasks it can compute at once."""
        return min(self.slots, os.cpu_count() or 1) if self.is_local else self.slots

    @property
    def session(self) -> SparkSession:
        """The SQL session, made at first use: moving records does without."""
        from pyspark.sql import SparkSession

        with self._lock:
            if self._session is None:
                self._session = SparkSession(self.context)
            return self._session

    def stop(self, timeout: float = 5.0) -> None:
        """End Spark, its JVM and its Python workers, by force where ``timeout`` seconds do not suffice."""
        stopping = threading.Thread(target=self._stop_context, name="spark-stop", daemon=True)
        stopping.start()
        stopping.join(timeout)
        _end_gateway(timeout=1.0 if stopping.is_alive() else timeout)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _stop_context(self) -> None:
        try:
            self.context.stop()
        except Exception as error:
            logger.debug("Spark did not stop cleanly: %s", error)


def start_spark(settings: Mapping[str, str], data_dir: Path, name: str = "penstock") -> SparkEngine:
    """Start Spark and wait for it. ``settings`` are the worker's keys, of which ``spark.*`` are used and win.

    Raises ``SparkStartError``, also where lanes would have to be encrypted and cannot be.
    """
    _check_encryption(settings, _master(settings))
    java = find_java()
    logs = data_dir / "spark"
    folder = _private_folder(logs)
    sockets = _socket_folder(folder)
    conf = _spark_conf(settings, name, folder, sockets, logs)
    _set_java_options(conf, java, folder, logs)
    console = logs / "console.log"
    logger.info("Starting Spark on Java %d (%s), logging to %s", java.version, java.home, logs / "spark.log")
    try:
        with _environment(settings, java_home_for_spark(java, folder / "java")), console.open("wb") as output:
            context = _start_context(conf, output)
    except Exception as error:
        _end_gateway(timeout=1.0)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(sockets, ignore_errors=True)
        raise SparkStartError(_why(error, console, logs / "spark.log")) from error
    engine = SparkEngine(context, folder, sockets)
    try:
        _check_encryption(engine.settings, str(context.master))
    except SparkStartError:
        engine.stop()
        raise
    for text, fix in risky_settings(engine.settings):
        logger.warning("%s. %s", text, fix)
    return engine


def _check_encryption(settings: Mapping[str, str], master: str) -> None:
    """Asked before the JVM starts, and again when ``spark-defaults.conf`` is known, too."""
    try:
        if not is_local(master):
            check_encryption(settings)
    except NoEncryptionError as error:
        raise SparkStartError(f"Spark is not started: {error}") from error


def _counter(context: SparkContext) -> ExecutorCount:
    tracker = context._jsc.statusTracker()
    settings = dict(context.getConf().getAll())
    driver = 1
    return ExecutorCount(
        settings,
        str(context.master),
        lambda: max(0, len(tracker.getExecutorInfos()) - driver),
        lambda: int(context.defaultParallelism),
    )


def _start_context(conf: SparkConf, output: BinaryIO) -> SparkContext:
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    log_broken_accumulators()

    gateway = launch_gateway(conf, {"stdout": output, "stderr": output})  # type: ignore[no-untyped-call]
    context = SparkContext(conf=conf, gateway=gateway)
    if conf.get(DAEMON_KEY) == DECIDING_DAEMON:
        context.addFile(str(DECIDING_FILE))
    return context


def _spark_conf(settings: Mapping[str, str], name: str, folder: Path, sockets: Path, logs: Path) -> SparkConf:
    from pyspark import SparkConf

    chosen = {key: value for key, value in settings.items() if key.startswith("spark.")}
    master = _master(chosen)
    shipped = {} if is_local(master) else shipped_settings(chosen, _plugin_path(settings), logs)
    conf = SparkConf(loadDefaults=False)
    for key, value in {**_defaults(master, name, folder, sockets, logs), **chosen, **shipped}.items():
        conf.set(key, value)
    return conf


def log_broken_accumulators() -> None:
    """Have PySpark's server of accumulators log its failures: it prints the trace on the console of whoever stops.

    A JVM that ends while the server waits for it breaks the connection, which is no news.
    """
    from pyspark import accumulators

    def tell(server: Any, request: Any, client_address: Any) -> None:
        level = logging.DEBUG if isinstance(sys.exc_info()[1], ConnectionError) else logging.ERROR
        logger.log(level, "The server of Spark's accumulators has lost a connection", exc_info=True)

    for name in ("AccumulatorServer", "AccumulatorTCPServer", "AccumulatorUnixServer"):
        if hasattr(accumulators, name):
            getattr(accumulators, name).handle_error = tell


def _set_java_options(conf: SparkConf, java: Java, folder: Path, logs: Path) -> None:
    """Those of the user win: the JVM takes the last one of a kind."""
    log_config = folder / "log4j2.properties"
    log_config.write_text(LOG_CONFIG.format(folder=logs))
    theirs = conf.get("spark.driver.extraJavaOptions", "") or ""
    options = [
        "" if re.search(r"-XX:\+Use\w+GC", theirs) else QUICK_START_OPTIONS,
        quoted(archive) if (archive := archive_option(java, theirs)) else "",
        quoted(f"-Djava.io.tmpdir={folder}"),
        f"-Dlog4j2.configurationFile={log_config.absolute().as_uri()}",
        theirs,
    ]
    conf.set("spark.driver.extraJavaOptions", " ".join(filter(None, options)))


def quoted(option: str) -> str:
    """For Spark's launcher, which splits options at blanks as a shell does."""
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _master(settings: Mapping[str, str]) -> str:
    return settings.get("spark.master", f"local[{SLOTS_PER_CORE * (os.cpu_count() or 1)}]")


def _plugin_path(settings: Mapping[str, str]) -> list[str]:
    return [entry.strip() for entry in settings.get("plugin.path", "").split(",") if entry.strip()]


def _defaults(master: str, name: str, folder: Path, sockets: Path, logs: Path) -> dict[str, str]:
    defaults = {
        "spark.master": master,
        "spark.app.name": name,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.python.worker.reuse": "true",
        "spark.sql.warehouse.dir": str(logs / "warehouse"),
        "spark.local.dir": str(folder),
    }
    if is_local(master):
        defaults |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),
            "spark.python.daemon.module": OUR_DAEMON,
            "spark.python.unix.domain.socket.enabled": "true",
            "spark.python.unix.domain.socket.dir": str(sockets),
        }
    else:
        defaults["spark.executor.decommission.forceKillTimeout"] = LONGEST_FAREWELL
    return defaults


def is_local(master: str) -> bool:
    """Whether tasks run in the driver's own JVM, so that no connection leaves the machine."""
    return master == "local" or master.startswith("local[")


@contextlib.contextmanager
def _environment(settings: Mapping[str, str], java_home: Path) -> Iterator[None]:
    """What PySpark reads from the environment only. The Spark of the ``pyspark`` package wins over ``SPARK_HOME``."""
    import pyspark

    python = settings.get("spark.pyspark.python", sys.executable)
    needed = {
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": settings.get("spark.pyspark.driver.python", python),
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }
    before = {key: os.environ.get(key) for key in needed}
    os.environ.update(needed)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _private_folder(parent: Path, prefix: str = "run-") -> Path:
    """A new folder of this process alone; those of processes that are gone are removed."""
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in parent.glob(f"{prefix}[0-9]*-*"):
        if not _is_alive(old.name.removeprefix(prefix).partition("-")[0]):
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix}{os.getpid()}-", dir=parent)).resolve()


def _is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def _socket_folder(folder: Path) -> Path:
    """``folder`` itself, or a short private one where its path is too long for a Unix socket."""
    if len(str(folder)) <= LONGEST_SOCKET_FOLDER:
        return folder
    return _private_folder(Path(tempfile.gettempdir()), "penstock-")


def _end_gateway(timeout: float) -> None:
    """Close the JVM that PySpark keeps for the life of the process, so that a later start gets a fresh one."""
    from pyspark import SparkContext

    gateway: Any = SparkContext._gateway
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    if gateway is None:
        return
    process: subprocess.Popen[bytes] = gateway.proc
    if process.stdin:
        process.stdin.close()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
    gateway.shutdown()


def _why(error: Exception, *logs: Path) -> str:
    """What the JVM complained of, then the ends of its logs."""
    complaint = str(error)
    tails = []
    for log in logs:
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        complaints = [line for line in lines if line.startswith(("Exception in thread", "Error:", "Unrecognized"))]
        if complaints and "JAVA_GATEWAY_EXITED" in complaint:
            complaint = complaints[-1].removeprefix('Exception in thread "main" ')
        if lines:
            tails.append(f"The end of {log}:\n" + "\n".join(lines[-15:]))
    return "\n".join([f"Spark could not start: {complaint}", *tails])
