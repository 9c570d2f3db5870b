#!/usr/bin/env bash
# Runs whatever it is given; `executor` is what Spark asks for when it starts a pod for its own work.
set -euo pipefail

if [ "${1:-}" != executor ]; then
    exec "$@"
fi

options=()
while IFS='=' read -r -d '' name value; do # variables are SPARK_JAVA_OPT_<number>, in their order
    case $name in SPARK_JAVA_OPT_*) options[${name#SPARK_JAVA_OPT_}]=$value ;; esac
done < <(env -0)

exec "$JAVA_HOME/bin/java" ${options[@]+"${options[@]}"} \
    "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
    -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*" \
    org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
    --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
    --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
    --resourceProfileId "${SPARK_RESOURCE_PROFILE_ID:-0}" --podName "$SPARK_EXECUTOR_POD_NAME"
