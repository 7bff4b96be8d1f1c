import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerProtocolAssignment;
import org.apache.kafka.common.message.ConsumerProtocolSubscription;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordType;
import org.apache.kafka.coordinator.group.generated.GroupMetadataValue;
import org.apache.kafka.coordinator.group.generated.OffsetCommitValue;

/**
 * Writes records.jsonl: the records of __consumer_offsets, as bytes from Kafka's own classes.
 *
 * <p>Made with Java 17, kafka-group-coordinator 4.4.0, which still writes every version below, and connect-runtime 4.4.0,
 * with all that they depend on. A pom.xml whose only dependencies are org.apache.kafka:kafka-group-coordinator:4.4.0 and
 * org.apache.kafka:connect-runtime:4.4.0, then:
 *
 * <pre>
 *   mvn dependency:copy-dependencies -DoutputDirectory=jars
 *   java -cp 'jars/*' GoldenRecords.java > records.jsonl
 * </pre>
 *
 * <p>A line is one record: type, version (null for a tombstone), variant, key and value as Kafka's own
 * CoordinatorRecordJsonConverters print them, key_hex, value_hex. Or it is a group, and the partition out of so many
 * that Kafka's Utils.abs gives it. Values are no defaults and differ from each other, so that swapped fields show.
 * <ul>
 *   <li>full: two elements in every array, nothing null, no tagged field set
 *   <li>nulls: one element, null wherever this version may hold it, in tagged fields too
 *   <li>tags: flexible versions; like full, but every tagged field that Kafka knows is set, and every struct ends in
 *       two tags that nobody knows
 *   <li>tombstone: a key without a value
 *   <li>metadata-N: a commit whose metadata has N bytes
 *   <li>subscription-N, connect, empty: a classic group whose members speak version N of the consumer protocol (9 is
 *       not made yet: version 3 with bytes after it), one of Kafka Connect, one without members
 *   <li>workers-P: a group of two workers of Kafka Connect with the protocol P
 *   <li>away: the assignment of a static member that left (epoch -2)
 * </ul>
 */
public final class GoldenRecords {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final String variant;
    private int count;
    private boolean metNullable;

    private GoldenRecords(String variant) {
        this.variant = variant;
    }

    public static void main(String[] args) throws Exception {
        for (CoordinatorRecordType type : CoordinatorRecordType.values()) {
            for (short version = type.lowestSupportedVersion(); version <= type.highestSupportedVersion(); version++) {
                for (String variant : List.of("full", "nulls", "tags")) {
                    new GoldenRecords(variant).printFilled(type, version);
                }
            }
            print(type, "tombstone", null, (short) 0);
        }
        for (short version : new short[] {3, 4}) {
            for (int size : new int[] {0, 126, 127, 128, 4096}) {
                OffsetCommitValue value = new OffsetCommitValue()
                        .setOffset(size)
                        .setMetadata("m".repeat(size))
                        .setCommitTimestamp(1_700_000_000_000L);
                print(CoordinatorRecordType.OFFSET_COMMIT, "metadata-" + size, value, version);
            }
        }
        for (short version : new short[] {0, 1, 2, 3, 9}) {
            print(CoordinatorRecordType.GROUP_METADATA, "subscription-" + version, consumers(version), (short) 3);
        }
        print(CoordinatorRecordType.GROUP_METADATA, "connect", consumers((short) 1).setProtocolType("connect"), (short) 3);
        for (String protocol : List.of("default", "compatible", "sessioned")) {
            print(CoordinatorRecordType.GROUP_METADATA, "workers-" + protocol, workers(protocol), (short) 3);
        }
        print(CoordinatorRecordType.GROUP_METADATA, "empty", empty(), (short) 3);
        for (CoordinatorRecordType type : List.of(
                CoordinatorRecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
                CoordinatorRecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT)) {
            ApiMessage value = type.newRecordValue();
            value.getClass().getMethod("setMemberEpoch", int.class).invoke(value, -2);
            print(type, "away", value, (short) 0);
        }
        for (String group : List.of("", "a", "orders", "polygenelubricants", "grüppe", "😀-x", "console-consumer-1234")) {
            for (int partitions : new int[] {50, 7}) {
                Map<String, Object> line = new LinkedHashMap<>();
                line.put("group", group);
                line.put("of", partitions);
                line.put("partition", Utils.abs(group.hashCode()) % partitions);
                print(line);
            }
        }
        OUT.flush();
    }

    private static GroupMetadataValue empty() {
        return new GroupMetadataValue()
                .setProtocolType("consumer")
                .setGeneration(8)
                .setProtocol(null)
                .setLeader(null)
                .setCurrentStateTimestamp(1_700_000_000_000L);
    }

    private static GroupMetadataValue consumers(short version) {
        short known = (short) Math.min(version, 3);
        ConsumerProtocolSubscription subscription = new ConsumerProtocolSubscription()
                .setTopics(List.of("orders", "grüppe"))
                .setUserData(ByteBuffer.wrap(new byte[] {1, 2}))
                .setGenerationId(7)
                .setRackId("rack");
        subscription.ownedPartitions().add(new ConsumerProtocolSubscription.TopicPartition()
                .setTopic("orders").setPartitions(List.of(5)));
        ConsumerProtocolAssignment assignment = new ConsumerProtocolAssignment();
        assignment.assignedPartitions().add(new ConsumerProtocolAssignment.TopicPartition()
                .setTopic("orders").setPartitions(List.of(0, 2)));
        return empty().setProtocol("range").setLeader("m1").setMembers(List.of(new GroupMetadataValue.MemberMetadata()
                .setMemberId("m1")
                .setClientId("c1")
                .setClientHost("/127.0.0.1")
                .setRebalanceTimeout(300_000)
                .setSessionTimeout(45_000)
                .setSubscription(newer(MessageUtil.toVersionPrefixedBytes(known, subscription), version))
                .setAssignment(newer(MessageUtil.toVersionPrefixedBytes(known, assignment), version))));
    }

    /**
     * Two workers of Kafka Connect. The first one, which leads, ran "file" and its tasks 0 and 1; from version 1 on, the
     * assignment takes task 1 away, and gives it task 2. The second one has just come, and gets task 1.
     */
    private static GroupMetadataValue workers(String protocol) {
        String first = "http://a:8083/";
        List<ConnectorTaskId> before = List.of(new ConnectorTaskId("file", 0), new ConnectorTaskId("file", 1));
        ByteBuffer[] states;
        ByteBuffer[] assignments;
        if (protocol.equals("default")) {
            states = new ByteBuffer[] {
                ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState(first, 7)),
                ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState("http://b:8083/", 7))
            };
            assignments = new ByteBuffer[] {
                ConnectProtocol.serializeAssignment(new ConnectProtocol.Assignment((short) 0, "m1", first, 7,
                        List.of("file"), List.of(new ConnectorTaskId("file", 0), new ConnectorTaskId("file", 2)))),
                ConnectProtocol.serializeAssignment(new ConnectProtocol.Assignment((short) 0, "m1", first, 7,
                        List.of(), List.of(new ConnectorTaskId("file", 1))))
            };
        } else {
            boolean sessioned = protocol.equals("sessioned");
            short version = (short) (sessioned ? 2 : 1);
            ExtendedAssignment ran = new ExtendedAssignment(version, (short) 0, "m1", first, 6,
                    List.of("file"), before, List.of(), List.of(), 0);
            states = new ByteBuffer[] {
                IncrementalCooperativeConnectProtocol.serializeMetadata(
                        new ExtendedWorkerState(first, 7, ran), sessioned),
                IncrementalCooperativeConnectProtocol.serializeMetadata(
                        new ExtendedWorkerState("http://b:8083/", 7, null), sessioned)
            };
            assignments = new ByteBuffer[] {
                IncrementalCooperativeConnectProtocol.serializeAssignment(new ExtendedAssignment(version, (short) 0,
                        "m1", first, 7, List.of(), List.of(new ConnectorTaskId("file", 2)),
                        List.of(), List.of(new ConnectorTaskId("file", 1)), 300_000), sessioned),
                IncrementalCooperativeConnectProtocol.serializeAssignment(new ExtendedAssignment(version, (short) 0,
                        "m1", first, 7, List.of(), List.of(new ConnectorTaskId("file", 1)),
                        List.of(), List.of(), 300_000), sessioned)
            };
        }
        List<GroupMetadataValue.MemberMetadata> members = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            members.add(new GroupMetadataValue.MemberMetadata()
                    .setMemberId("m" + (i + 1))
                    .setClientId("connect-" + (i + 1))
                    .setClientHost("/127.0.0.1")
                    .setRebalanceTimeout(60_000)
                    .setSessionTimeout(10_000)
                    .setSubscription(Utils.toArray(states[i]))
                    .setAssignment(Utils.toArray(assignments[i])));
        }
        return empty().setProtocolType("connect").setProtocol(protocol).setLeader("m1").setMembers(members);
    }

    /** The bytes as a version that is not made yet might be: another number in front, unknown fields at the end. */
    private static byte[] newer(byte[] bytes, short version) {
        return version <= 3
                ? bytes
                : ByteBuffer.allocate(bytes.length + 3).put(bytes).put(new byte[] {9, 9, 9}).putShort(0, version).array();
    }

    private void printFilled(CoordinatorRecordType type, short version) throws Exception {
        ApiMessage value = type.newRecordValue();
        fill(value, (Schema) value.getClass().getField("SCHEMA_" + version).get(null));
        boolean flexible = !value.unknownTaggedFields().isEmpty();
        if (variant.equals("full") || variant.equals("nulls") && metNullable || variant.equals("tags") && flexible) {
            print(type, variant, value, version);
        }
    }

    private static void print(CoordinatorRecordType type, String variant, ApiMessage value, short version)
            throws Exception {
        ApiMessage key = type.newRecordKey();
        GoldenRecords names = new GoldenRecords("full");
        names.fill(key, (Schema) key.getClass().getField("SCHEMA_0").get(null));
        byte[] keyBytes = MessageUtil.toCoordinatorTypePrefixedBytes(key);
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("type", type.id());
        line.put("name", key.getClass().getSimpleName().replaceAll("Key$", ""));
        line.put("version", value == null ? null : version);
        line.put("variant", variant);
        line.put("key", CoordinatorRecordJsonConverters.writeRecordKeyAsJson(key));
        line.put("value", value == null ? null : json(value, version));
        line.put("key_hex", HexFormat.of().formatHex(keyBytes));
        line.put("value_hex", value == null ? null : hex(value, version));
        print(line);
    }

    private static JsonNode json(ApiMessage value, short version) {
        return CoordinatorRecordJsonConverters.writeRecordValueAsJson(value, version);
    }

    private static String hex(ApiMessage value, short version) {
        return HexFormat.of().formatHex(MessageUtil.toVersionPrefixedBytes(version, value));
    }

    private static void print(Map<String, Object> line) throws Exception {
        OUT.print(JSON.writeValueAsString(line) + "\n");
    }

    private void fill(Message struct, Schema schema) throws Exception {
        for (BoundField field : schema.fields()) {
            if (field.def.type instanceof TaggedFields tagged) {
                for (Field known : tagged.fields().values()) {
                    if (variant.equals("tags") || variant.equals("nulls") && known.type.isNullable()) {
                        set(struct, known);
                    }
                }
                if (variant.equals("tags")) {
                    struct.unknownTaggedFields().add(new RawTaggedField(77, new byte[] {1, 2, 3}));
                    struct.unknownTaggedFields().add(new RawTaggedField(300, new byte[0]));
                }
            } else {
                set(struct, field.def);
            }
        }
    }

    private void set(Message struct, Field field) throws Exception {
        String name = setter(field.name);
        for (Method setter : struct.getClass().getMethods()) {
            if (setter.getName().equals(name)) {
                setter.invoke(struct, sample(field, field.type, setter.getGenericParameterTypes()[0]));
                return;
            }
        }
        throw new IllegalStateException(struct.getClass() + " has no " + name);
    }

    private Object sample(Field field, org.apache.kafka.common.protocol.types.Type type, Type javaType)
            throws Exception {
        metNullable |= type.isNullable();
        if (type.isNullable() && variant.equals("nulls")) {
            return null;
        }
        if (type.isArray()) {
            Type javaElement = ((ParameterizedType) javaType).getActualTypeArguments()[0];
            List<Object> elements = new ArrayList<>();
            for (int left = variant.equals("nulls") ? 1 : 2; left > 0; left--) {
                elements.add(sample(field, type.arrayElementType().orElseThrow(), javaElement));
            }
            return elements;
        }
        if (type instanceof Schema schema) {
            Message struct = (Message) ((Class<?>) javaType).getConstructor().newInstance();
            fill(struct, schema);
            return struct;
        }
        int n = ++count;
        int sign = n % 2 == 0 ? 1 : -1;
        return switch (((Class<?>) javaType).getSimpleName()) {
            case "byte" -> (byte) (n % 4);
            case "short", "Short" -> (short) (sign * (n * 211 % 32000 + 2));
            case "int", "Integer" -> type == org.apache.kafka.common.protocol.types.Type.UINT16
                    ? 65_000 + n
                    : sign * (n * 10_000_019 % 2_000_000_000 + 2);
            case "long" -> field.name.contains("timestamp")
                    ? 1_700_000_000_000L + n
                    : sign * (n * 40_000_000_000_000_019L + 2);
            case "String" -> (n % 5 == 0 ? "é✓😀" : "s") + n;
            case "Uuid" -> new Uuid(n * 0x0123_4567_89ab_cdL, ~(n * 0x0fed_cba9_8765_43L));
            case "byte[]" -> new byte[] {(byte) n, 0, (byte) 0xff};
            default -> throw new IllegalStateException("no sample of " + javaType);
        };
    }

    private static String setter(String snake) {
        StringBuilder name = new StringBuilder("set");
        for (String word : snake.split("_")) {
            name.append(Character.toUpperCase(word.charAt(0))).append(word.substring(1));
        }
        return name.toString();
    }
}
