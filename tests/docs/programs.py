"""Programs that pages use and that are not the reader's own: a pip that installs into a folder, Kafka's scripts."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import psutil
import pyspark

from penstock.spark.java import find_java
from tests.docs.blocks import ROOT
from tests.docs.sandbox import Sandbox
from tests.support.kafka_connect import connect_class_path
from tests.support.shared_packages import new_environment

BUILD_SECONDS = 600
NO_SUCH_EXTRA = "does not provide the extra"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def add_pip(sandbox: Sandbox) -> Path:
    """``pip`` installs into an environment of its own, and Penstock from this clone, which is on no index.

    The environment's Python is returned. An extra that Penstock has not is an error here, where pip only warns.
    """
    python = new_environment(sandbox.folder / ".pip") / "python"
    wheels = sandbox.folder / ".wheels"
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)]
    subprocess.run(build, check=True, timeout=BUILD_SECONDS, cwd=sandbox.folder)
    sandbox.substitutions.append(("pip install 'penstock", f"pip install --no-index --find-links {wheels} 'penstock"))
    said = sandbox.folder / ".pip" / "said"
    run = f'{python} -m pip "$@" > {said} 2>&1; code=$?; cat {said}'
    sandbox.add_program("pip", f'{run}\nif grep -q "{NO_SUCH_EXTRA}" {said}; then exit 1; fi\nexit $code')
    return python


def add_kafka_scripts(sandbox: Sandbox) -> None:
    """What Kafka's own folder ``bin`` would have."""
    java = find_java().home / "bin" / "java"
    sandbox.add_program("kafka-consumer-groups.sh", f"exec {java} -cp '{connect_class_path()}' {GROUPS} \"$@\"")


def add_spark_class(sandbox: Sandbox) -> Path:
    """What starts Spark's own programs. The file that the id of its process will be in."""
    process = sandbox.folder / ".spark-class"
    home = Path(pyspark.__file__).parent
    run = f"SPARK_HOME={home} JAVA_HOME={find_java().home} exec {home / 'bin' / 'spark-class'}"
    sandbox.add_program("spark-class", f'echo $$ > {process}\n{run} "$@"')
    return process


def end(process: Path) -> None:
    """End a program of :func:`add_spark_class`, if it was started."""
    if process.exists():
        with contextlib.suppress(psutil.NoSuchProcess):
            started = psutil.Process(int(process.read_text()))
            started.kill()
            started.wait(120)


def imports(python: Path, *modules: str) -> None:
    """Fails where that Python lacks one of them."""
    subprocess.run([python, "-c", f"import {', '.join(modules)}"], check=True, timeout=120)
