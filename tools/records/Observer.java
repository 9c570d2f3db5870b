import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.runtime.ConnectMetrics;
import org.apache.kafka.connect.runtime.ConnectorConfig;
import org.apache.kafka.connect.runtime.InternalSinkRecord;
import org.apache.kafka.connect.runtime.SinkConnectorConfig;
import org.apache.kafka.connect.runtime.TransformationChain;
import org.apache.kafka.connect.runtime.TransformationStage;
import org.apache.kafka.connect.runtime.errors.ErrorHandlingMetrics;
import org.apache.kafka.connect.runtime.errors.Operation;
import org.apache.kafka.connect.runtime.errors.ProcessingContext;
import org.apache.kafka.connect.runtime.errors.RetryWithToleranceOperator;
import org.apache.kafka.connect.runtime.errors.Stage;
import org.apache.kafka.connect.runtime.errors.ToleranceType;
import org.apache.kafka.connect.runtime.isolation.Plugins;
import org.apache.kafka.connect.runtime.standalone.StandaloneConfig;
import org.apache.kafka.connect.sink.SinkRecord;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.util.ConnectUtils;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * What Kafka Connect itself does with single records: {@code java Observer <cases> <observations>}.
 *
 * <p>Both files have one JSON object a line; all bytes are base64. The records of a case pass the converters of its
 * {@code in}, the transforms of its {@code config} and the converters of its {@code out}, through the classes a worker
 * uses and in the order in which a sink task reads and a source task writes.
 */
public final class Observer {
    private static final ObjectMapper JSON = new ObjectMapper().enable(JsonWriteFeature.ESCAPE_NON_ASCII.mappedFeature());
    private static final ConnectorTaskId TASK = new ConnectorTaskId("observed", 0);
    private static final String SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector";

    private final Plugins plugins;
    private final ConnectMetrics metrics;

    private Observer() {
        String json = "org.apache.kafka.connect.json.JsonConverter";
        Map<String, String> worker = new HashMap<>(Map.of(
                "bootstrap.servers", "localhost:9",
                "key.converter", json,
                "value.converter", json,
                "offset.storage.file.filename", "nowhere",
                "plugin.discovery", "service_load"));
        plugins = new Plugins(worker);
        plugins.compareAndSwapWithDelegatingLoader();
        metrics = new ConnectMetrics("observer", new StandaloneConfig(worker), Time.SYSTEM, "none");
    }

    public static void main(String[] files) throws Exception {
        Observer observer = new Observer();
        List<String> answers = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(files[0]), UTF_8)) {
            answers.add(JSON.writeValueAsString(observer.observe(JSON.readTree(line))));
        }
        Files.write(Path.of(files[1]), answers, UTF_8);
        System.exit(0);
    }

    private ObjectNode observe(JsonNode given) {
        ObjectNode answer = JSON.createObjectNode();
        Map<String, String> reading = connector(given.get("in"));
        reading.putAll(texts(given.get("config")));
        Map<String, String> writing = connector(given.get("out"));
        ObjectNode refusal = refusal(reading);
        if (refusal != null) {
            answer.set("config_error", refusal);
            return answer;
        }
        if (given.get("kind").asText().equals("source")) {
            follow(given, answer, reading, writing, Observer::sourceRecord);
        } else {
            follow(given, answer, reading, writing, Observer::sinkRecord);
        }
        return answer;
    }

    private static Map<String, String> connector(JsonNode converters) {
        Map<String, String> config = new HashMap<>(texts(converters));
        config.put("name", "observed");
        config.put("connector.class", SINK);
        config.put("topics", "any");
        return config;
    }

    private static Map<String, String> texts(JsonNode object) {
        Map<String, String> found = new HashMap<>();
        object.properties().forEach(e -> found.put(e.getKey(), e.getValue().isNull() ? null : e.getValue().asText()));
        return found;
    }

    // Configurations that are refused.

    /** What the validation of a connector finds, or null when it finds nothing. */
    private ObjectNode refusal(Map<String, String> config) {
        Map<String, List<String>> errors = new TreeMap<>();
        try {
            ConfigDef keys = ConnectorConfig.enrich(plugins, SinkConnectorConfig.configDef(), config, false);
            collect(errors, "", keys.validate(config));
        } catch (Exception error) {
            return described(error).put("at", "validate");
        }
        for (String side : List.of("key", "value", "header")) {
            String prefix = side + ".converter";
            if (!errors.containsKey(prefix)) {
                collect(errors, prefix + ".", ownErrors(config, prefix, side));
            }
        }
        if (errors.isEmpty()) {
            return null;
        }
        ObjectNode found = JSON.createObjectNode().put("at", "validate");
        found.set("errors", JSON.valueToTree(errors));
        return found;
    }

    private static void collect(Map<String, List<String>> errors, String prefix, List<ConfigValue> values) {
        for (ConfigValue value : values) {
            if (!value.errorMessages().isEmpty()) {
                errors.put(prefix + value.name(), value.errorMessages());
            }
        }
    }

    /** A converter's own keys, checked as the validate endpoint does. */
    private List<ConfigValue> ownErrors(Map<String, String> config, String prefix, String side) {
        Map<String, String> own = new HashMap<>(Map.of("converter.type", side));
        config.forEach((key, value) -> {
            if (key.startsWith(prefix + ".")) {
                own.put(key.substring(prefix.length() + 1), value);
            }
        });
        Object converter;
        try {
            converter = plugins.newPlugin(config.get(prefix), null);
        } catch (Exception notThere) {
            return List.of();
        }
        ConfigDef keys = converter instanceof HeaderConverter h ? h.config() : ((Converter) converter).config();
        return keys.validate(own);
    }

    private static ObjectNode described(Throwable error) {
        StackTraceElement[] trace = error.getStackTrace();
        boolean slip = error instanceof NullPointerException || error instanceof ClassCastException
                || error instanceof IndexOutOfBoundsException || error instanceof ArithmeticException;
        boolean ours = !slip && trace.length > 0 && trace[0].getClassName().startsWith("org.apache.kafka.");
        return JSON.createObjectNode()
                .put("exception", error.getClass().getName())
                .put("message", error.getMessage())
                .put("message_from", ours ? "kafka" : "java");
    }

    // Records.

    private record Converters(Converter key, Converter value, HeaderConverter header) {}

    private record Input(JsonNode given, ConsumerRecord<byte[], byte[]> raw,
            ProcessingContext<ConsumerRecord<byte[], byte[]>> context) {}

    private record Content(SchemaAndValue key, SchemaAndValue value, ConnectHeaders headers) {}

    private Converters converters(ConnectorConfig config) {
        return new Converters(
                plugins.newConverter(config, "key.converter", "key.converter.plugin.version"),
                plugins.newConverter(config, "value.converter", "value.converter.plugin.version"),
                plugins.newHeaderConverter(config, "header.converter", "header.converter.plugin.version"));
    }

    private <R extends ConnectRecord<R>> void follow(JsonNode given, ObjectNode answer, Map<String, String> reading,
            Map<String, String> writing, BiFunction<Input, Content, R> make) {
        Converters in;
        Converters out;
        List<TransformationStage<R>> stages;
        try {
            SinkConnectorConfig config = new SinkConnectorConfig(plugins, reading);
            in = converters(config);
            out = converters(new SinkConnectorConfig(plugins, writing));
            stages = config.transformationStages(plugins, TASK, metrics);
        } catch (Exception error) {
            answer.set("config_error", described(error).put("at", "task_start"));
            return;
        }
        ArrayNode expect = answer.putArray("expect");
        try (ErrorHandlingMetrics counts = new ErrorHandlingMetrics(TASK, metrics)) {
            var operator = new RetryWithToleranceOperator<ConsumerRecord<byte[], byte[]>>(
                    0, 0, ToleranceType.ALL, Time.SYSTEM, counts);
            try (var chain = new TransformationChain<ConsumerRecord<byte[], byte[]>, R>(stages, operator)) {
                Way<R> way = new Way<>(in, out, operator, chain, make);
                given.get("records").forEach(record -> expect.add(way.outcome(record)));
            }
        }
    }

    private static SourceRecord sourceRecord(Input input, Content content) {
        Integer partition = input.given.get("partition").isNull() ? null : input.raw.partition();
        return new SourceRecord(Map.of(), Map.of(), input.raw.topic(), partition, content.key.schema(),
                content.key.value(), content.value.schema(), content.value.value(), timestamp(input), content.headers);
    }

    private static SinkRecord sinkRecord(Input input, Content content) {
        ConsumerRecord<byte[], byte[]> raw = input.raw;
        SinkRecord record = new SinkRecord(raw.topic(), raw.partition(), content.key.schema(), content.key.value(),
                content.value.schema(), content.value.value(), raw.offset(), timestamp(input), raw.timestampType(),
                content.headers);
        return new InternalSinkRecord(input.context, record);
    }

    private static Long timestamp(Input input) {
        return ConnectUtils.checkAndConvertTimestamp(input.raw.timestamp());
    }

    /** From raw bytes to raw bytes. */
    private static final class Way<R extends ConnectRecord<R>> {
        private final Converters in;
        private final Converters out;
        private final RetryWithToleranceOperator<ConsumerRecord<byte[], byte[]>> operator;
        private final TransformationChain<ConsumerRecord<byte[], byte[]>, R> chain;
        private final BiFunction<Input, Content, R> make;

        Way(Converters in, Converters out, RetryWithToleranceOperator<ConsumerRecord<byte[], byte[]>> operator,
                TransformationChain<ConsumerRecord<byte[], byte[]>, R> chain, BiFunction<Input, Content, R> make) {
            this.in = in;
            this.out = out;
            this.operator = operator;
            this.chain = chain;
            this.make = make;
        }

        /** What becomes of one record. An error outside of the operator is one that no tolerance covers. */
        ObjectNode outcome(JsonNode given) {
            ObjectNode outcome = JSON.createObjectNode();
            try {
                pass(given, outcome);
                return outcome;
            } catch (Failed failed) {
                outcome.set("error", failed.told);
                return outcome;
            } catch (Exception error) {
                ObjectNode fatal = JSON.createObjectNode();
                fatal.set("error", JSON.createObjectNode().put("fatal", true).setAll(described(error)));
                return fatal;
            }
        }

        private void pass(JsonNode given, ObjectNode outcome) throws Failed {
            ConsumerRecord<byte[], byte[]> raw = raw(given);
            Input input = new Input(given, raw, new ProcessingContext<>(raw));
            R record = chain.apply(input.context, make.apply(input, read(input)));
            check(input.context, "transform");
            if (record == null) {
                outcome.put("dropped", true);
                return;
            }
            if (record instanceof SinkRecord) {
                String line = String.valueOf(record.value());
                if (!line.contains("[B@") && !isUnordered(record.value())) {
                    outcome.put("line", line);
                }
            }
            outcome.set("record", write(record, new ProcessingContext<>(raw)));
        }

        private Content read(Input input) throws Failed {
            ConsumerRecord<byte[], byte[]> raw = input.raw;
            SchemaAndValue key = step(input.context, "in", Stage.KEY_CONVERTER, in.key,
                    () -> in.key.toConnectData(raw.topic(), raw.headers(), raw.key()));
            SchemaAndValue value = step(input.context, "in", Stage.VALUE_CONVERTER, in.value,
                    () -> in.value.toConnectData(raw.topic(), raw.headers(), raw.value()));
            ConnectHeaders headers = step(input.context, "in", Stage.HEADER_CONVERTER, in.header, () -> {
                ConnectHeaders converted = new ConnectHeaders();
                raw.headers().forEach(h ->
                        converted.add(h.key(), in.header.toConnectHeader(raw.topic(), h.key(), h.value())));
                return converted;
            });
            return new Content(key, value, headers);
        }

        private ObjectNode write(R record, ProcessingContext<ConsumerRecord<byte[], byte[]>> context) throws Failed {
            String topic = record.topic();
            Headers headers = step(context, "out", Stage.HEADER_CONVERTER, out.header, () -> {
                Headers converted = new RecordHeaders();
                record.headers().forEach(h -> converted.add(h.key(),
                        out.header.fromConnectHeader(topic, h.key(), h.schema(), h.value())));
                return converted;
            });
            byte[] key = step(context, "out", Stage.KEY_CONVERTER, out.key,
                    () -> out.key.fromConnectData(topic, headers, record.keySchema(), record.key()));
            byte[] value = step(context, "out", Stage.VALUE_CONVERTER, out.value,
                    () -> out.value.fromConnectData(topic, headers, record.valueSchema(), record.value()));
            ObjectNode written = JSON.createObjectNode()
                    .put("topic", topic)
                    .put("partition", record.kafkaPartition())
                    .put("timestamp", ConnectUtils.checkAndConvertTimestamp(record.timestamp()));
            put(written, "key", key, record.key());
            put(written, "value", value, record.value());
            ArrayNode list = written.putArray("headers");
            var values = record.headers().iterator();
            headers.forEach(h -> put(list.addObject().put("name", h.key()), "bytes", h.value(), values.next().value()));
            return written;
        }

        private <T> T step(ProcessingContext<ConsumerRecord<byte[], byte[]>> context, String side, Stage stage,
                Object plugin, Operation<T> operation) throws Failed {
            T result = operator.execute(context, operation, stage, plugin.getClass());
            check(context, side);
            return result;
        }

        private static void check(ProcessingContext<?> context, String side) throws Failed {
            if (context.failed()) {
                throw new Failed(JSON.createObjectNode()
                        .put("side", side)
                        .put("stage", context.stage().name())
                        .put("class", context.executingClass().getName())
                        .setAll(described(context.error())));
            }
        }
    }

    private static final class Failed extends Exception {
        private final transient JsonNode told;

        Failed(JsonNode told) {
            this.told = told;
        }
    }

    // Bytes.

    private static ConsumerRecord<byte[], byte[]> raw(JsonNode given) {
        Headers headers = new RecordHeaders();
        given.get("headers").forEach(h -> headers.add(h.get("name").asText(), bytes(h.get("bytes"))));
        boolean untimed = given.get("timestamp").isNull();
        return new ConsumerRecord<>(
                given.get("topic").asText(),
                given.get("partition").asInt(),
                given.get("offset").asLong(),
                untimed ? ConsumerRecord.NO_TIMESTAMP : given.get("timestamp").asLong(),
                untimed ? TimestampType.NO_TIMESTAMP_TYPE : TimestampType.CREATE_TIME,
                ConsumerRecord.NULL_SIZE,
                ConsumerRecord.NULL_SIZE,
                bytes(given.get("key")),
                bytes(given.get("value")),
                headers,
                Optional.empty());
    }

    private static byte[] bytes(JsonNode base64) {
        return base64.isNull() ? null : Base64.getDecoder().decode(base64.asText());
    }

    private static void put(ObjectNode object, String name, byte[] bytes, Object value) {
        object.put(name, bytes == null ? null : Base64.getEncoder().encodeToString(bytes));
        object.put(name + "_unordered", bytes != null && isUnordered(value));
    }

    /** Whether some map in the value has several entries: their order is an accident. */
    private static boolean isUnordered(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.size() > 1 || map.values().stream().anyMatch(Observer::isUnordered);
        }
        if (value instanceof Iterable<?> items) {
            for (Object item : items) {
                if (isUnordered(item)) {
                    return true;
                }
            }
        }
        return value instanceof Struct struct
                && struct.schema().fields().stream().anyMatch(field -> isUnordered(struct.get(field)));
    }
}
