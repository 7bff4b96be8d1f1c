import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;

/**
 * Writes messages.jsonl: the messages that kafka-groups speaks, as bytes from Kafka's own classes.
 *
 * <p>Made with Java 17 and kafka-clients 4.4.0, which still writes every version below:
 *
 * <pre>
 *   mvn dependency:copy -Dartifact=org.apache.kafka:kafka-clients:4.4.0 -DoutputDirectory=jars
 *   java -cp jars/kafka-clients-4.4.0.jar Golden.java > messages.jsonl
 * </pre>
 *
 * <p>A line is one message: api, kind (request, response, assignment), version, variant, values, hex.
 * Names, nullability and presence come from the class's own schema of that version, the bytes from its
 * own write method. Values are no defaults and differ from each other, so that swapped fields show.
 * <ul>
 *   <li>full: two elements in every array, nothing null
 *   <li>nulls: one element, null wherever this version may hold it, default booleans
 *   <li>tags: responses of flexible versions; like full, but every tagged field that Kafka knows is
 *       set, and every struct ends in two tags that nobody knows; neither is among the values
 * </ul>
 */
public final class Golden {
    private record Spoken(String api, int lowest, int highest) {}

    private static final List<Spoken> SPOKEN = List.of(
            new Spoken("AlterShareGroupOffsets", 0, 0),
            new Spoken("ApiVersions", 0, 3),
            new Spoken("ConsumerGroupDescribe", 0, 1),
            new Spoken("DeleteGroups", 0, 3),
            new Spoken("DeleteShareGroupOffsets", 0, 0),
            new Spoken("DescribeCluster", 0, 1),
            new Spoken("DescribeConfigs", 1, 4),
            new Spoken("DescribeGroups", 0, 6),
            new Spoken("DescribeProducers", 0, 0),
            new Spoken("DescribeShareGroupOffsets", 0, 1),
            new Spoken("FindCoordinator", 0, 6),
            new Spoken("LeaveGroup", 0, 5),
            new Spoken("ListGroups", 0, 5),
            new Spoken("ListOffsets", 1, 10),
            new Spoken("Metadata", 4, 13),
            new Spoken("OffsetCommit", 2, 10),
            new Spoken("OffsetDelete", 0, 0),
            new Spoken("OffsetFetch", 1, 9),
            new Spoken("SaslAuthenticate", 0, 2),
            new Spoken("SaslHandshake", 1, 1),
            new Spoken("ShareGroupDescribe", 1, 1),
            new Spoken("StreamsGroupDescribe", 0, 1));

    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    private final String variant;
    private int count;
    private boolean metNullable;
    private boolean metTags;

    private Golden(String variant) {
        this.variant = variant;
    }

    public static void main(String[] args) throws Exception {
        for (Spoken spoken : SPOKEN) {
            for (String kind : List.of("Request", "Response")) {
                for (int version = spoken.lowest; version <= spoken.highest; version++) {
                    for (String variant : List.of("full", "nulls", "tags")) {
                        new Golden(variant).print(spoken.api, kind, (short) version);
                    }
                }
            }
        }
        for (short version = 0; version <= 3; version++) {
            for (String variant : List.of("full", "nulls")) {
                new Golden(variant).print("ConsumerProtocol", "Assignment", version);
            }
        }
        OUT.flush();
    }

    private void print(String api, String kind, short version) throws Exception {
        String suffix = kind.equals("Assignment") ? "" : "Data";
        Class<?> type = Class.forName("org.apache.kafka.common.message." + api + kind + suffix);
        ApiMessage message = (ApiMessage) type.getConstructor().newInstance();
        Map<String, Object> values = fill(message, (Schema) type.getField("SCHEMA_" + version).get(null));
        if (variant.equals("nulls") && !metNullable || variant.equals("tags") && !(metTags && kind.equals("Response"))) {
            return;
        }
        // The assignment stands in DescribeGroups as a client wrote it: its version in front.
        byte[] bytes = kind.equals("Assignment")
                ? MessageUtil.toVersionPrefixedBytes(version, message)
                : MessageUtil.byteBufferToArray(MessageUtil.toByteBufferAccessor(message, version).buffer());
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("api", api);
        line.put("kind", kind.toLowerCase());
        line.put("version", version);
        line.put("variant", variant);
        line.put("values", values);
        line.put("hex", HexFormat.of().formatHex(bytes));
        OUT.print(json(line) + "\n");
    }

    private Map<String, Object> fill(Message struct, Schema schema) throws Exception {
        Map<String, Object> values = new LinkedHashMap<>();
        for (BoundField field : schema.fields()) {
            if (field.def.type instanceof TaggedFields tagged) {
                metTags = true;
                if (variant.equals("tags")) {
                    for (var known : tagged.fields().values()) {
                        set(struct, known);
                    }
                    struct.unknownTaggedFields().add(new RawTaggedField(77, new byte[] {1, 2, 3}));
                    struct.unknownTaggedFields().add(new RawTaggedField(300, new byte[0]));
                }
            } else {
                values.put(field.def.name, set(struct, field.def));
            }
        }
        return values;
    }

    private Object set(Message struct, org.apache.kafka.common.protocol.types.Field field) throws Exception {
        String name = camel(field.name);
        Object standard = struct.getClass().getMethod(name).invoke(struct);
        String setterName = "set" + Character.toUpperCase(name.charAt(0)) + name.substring(1);
        for (Method setter : struct.getClass().getMethods()) {
            if (setter.getName().equals(setterName)) {
                Sample sample = sample(field.type, setter.getGenericParameterTypes()[0], standard);
                setter.invoke(struct, sample.value);
                return sample.shown;
            }
        }
        throw new IllegalStateException(struct.getClass() + " has no " + setterName);
    }

    /** What goes into the Java object, and how the line shows it. */
    private record Sample(Object value, Object shown) {}

    private Sample sample(org.apache.kafka.common.protocol.types.Type type, Type javaType, Object standard)
            throws Exception {
        metNullable |= type.isNullable();
        if (type.isNullable() && variant.equals("nulls")) {
            return new Sample(null, null);
        }
        if (type.isArray()) {
            return samples(type.arrayElementType().orElseThrow(), javaType);
        }
        if (type instanceof Schema schema) {
            Message struct = (Message) ((Class<?>) javaType).getConstructor().newInstance();
            Map<String, Object> values = fill(struct, schema);
            return new Sample(struct, values);
        }
        int n = ++count;
        int sign = n % 2 == 0 ? 1 : -1;
        if (type.toString().equals("UINT16")) { // an int in Java
            return same(32_768 + n * 211 % 32_000);
        }
        return switch (((Class<?>) javaType).getSimpleName()) {
            case "boolean" -> same((Boolean) standard == variant.equals("nulls"));
            case "byte" -> same((byte) (sign * (n % 100 + 2)));
            case "short" -> same((short) (sign * (n * 211 % 32000 + 2)));
            case "int", "Integer" -> same(sign * (n * 10_000_019 % 2_000_000_000 + 2));
            case "long" -> same(sign * (n * 40_000_000_000_000_019L + 2));
            case "String" -> same((n % 5 == 0 ? "é✓😀" : "s") + n);
            case "Uuid" -> uuid(n * 0x0123_4567_89ab_cdL, ~(n * 0x0fed_cba9_8765_43L));
            case "byte[]" -> new Sample(bytes(n), Map.of("$bytes", HexFormat.of().formatHex(bytes(n))));
            case "ByteBuffer" -> new Sample(ByteBuffer.wrap(bytes(n)), Map.of("$bytes", HexFormat.of().formatHex(bytes(n))));
            default -> throw new IllegalStateException("no sample of " + javaType);
        };
    }

    private Sample samples(org.apache.kafka.common.protocol.types.Type elementType, Type javaType) throws Exception {
        Collection<Object> elements = new ArrayList<>();
        Type javaElement;
        if (javaType instanceof ParameterizedType list) {
            javaElement = list.getActualTypeArguments()[0];
        } else {
            @SuppressWarnings("unchecked")
            Collection<Object> indexed = (Collection<Object>) ((Class<?>) javaType).getConstructor().newInstance();
            elements = indexed;
            javaElement = ((ParameterizedType) ((Class<?>) javaType).getGenericSuperclass()).getActualTypeArguments()[0];
        }
        List<Object> shown = new ArrayList<>();
        for (int left = variant.equals("nulls") ? 1 : 2; left > 0; left--) {
            Sample element = sample(elementType, javaElement, null);
            elements.add(element.value);
            shown.add(element.shown);
        }
        return new Sample(elements, shown);
    }

    private static Sample same(Object value) {
        return new Sample(value, value);
    }

    private static Sample uuid(long high, long low) {
        return new Sample(new Uuid(high, low), Map.of("$uuid", new java.util.UUID(high, low).toString()));
    }

    private static byte[] bytes(int n) {
        return new byte[] {(byte) n, 0, (byte) 0xff};
    }

    private static String camel(String snake) {
        StringBuilder camel = new StringBuilder();
        for (String word : snake.split("_")) {
            camel.append(camel.isEmpty() ? word : Character.toUpperCase(word.charAt(0)) + word.substring(1));
        }
        return camel.toString();
    }

    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> json(entry.getKey()) + ":" + json(entry.getValue()))
                    .collect(Collectors.joining(",", "{", "}"));
        }
        if (value instanceof List<?> list) {
            return list.stream().map(Golden::json).collect(Collectors.joining(",", "[", "]"));
        }
        return value instanceof String text ? '"' + text + '"' : String.valueOf(value);
    }
}
