"""Fetches what Maven coordinates name with the resolver that Spark brings along: nothing needs to be installed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pyspark

from penstock.spark.java import find_java

FETCH_SECONDS = 600.0

_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true" usepoms="false"/></resolvers>
</ivysettings>
"""

_WANTED = """\
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="penstock" module="tests"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
    <dependency org="{group}" name="{name}" rev="{version}" transitive="false" conf="default->*">
      <artifact name="{name}" type="{extension}" ext="{extension}" m:classifier="{classifier}"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


def fetch(group: str, name: str, version: str, classifier: str, extension: str, folder: Path) -> Path:
    """The file, copied into ``folder``. Fails with what the resolver said when it cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.xml").write_text(_SETTINGS)
    wanted = _WANTED.format(group=group, name=name, version=version, classifier=classifier, extension=extension)
    (folder / "wanted.xml").write_text(wanted)
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    command = [str(find_java().home / "bin" / "java"), f"-Divy.default.ivy.user.dir={folder / 'ivy'}", "-cp", str(ivy)]
    command += ["org.apache.ivy.Main", "-settings", "settings.xml", "-ivy", "wanted.xml", "-confs", "default"]
    command += ["-retrieve", str(folder / "[artifact]-[revision]-[classifier].[ext]")]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    found = folder / f"{name}-{version}-{classifier}.{extension}"
    assert found.exists(), f"{group}:{name}:{version} could not be fetched:\n{said.stdout[-3000:]}{said.stderr[-1000:]}"
    return found


def fetch_packages(packages: Iterable[str], folder: Path) -> None:
    """Packages and all that they need, into ``folder/jars``; what was said is in ``folder/fetch.log``.

    Spark resolves them for an application that does not exist, which is as good as any. It sees no home but ``folder``:
    the Maven repository of whoever runs the tests may have a package by half, and Spark would not look further.
    """
    folder.mkdir(parents=True, exist_ok=True)
    home = Path(pyspark.__file__).parent
    command = [
        str(home / "bin" / "spark-submit"),
        *("--master", "local[1]", "--conf", f"spark.jars.ivy={folder}", "--packages", ",".join(packages)),
        *("--class", "none.Such", os.devnull),
    ]
    java = str(find_java().home)
    environment = {**os.environ, "SPARK_HOME": str(home), "JAVA_HOME": java, "SPARK_SUBMIT_OPTS": "-Duser.home=."}
    with (folder / "fetch.log").open("wb") as log:
        subprocess.run(command, stdout=log, stderr=log, env=environment, timeout=FETCH_SECONDS, check=False, cwd=folder)
