import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;

/**
 * Writes connect.jsonl: what Connect workers and their leaders write into a group, as bytes from Kafka's own classes.
 *
 * <p>Made with Java 17 and Kafka 4.3.1:
 *
 * <pre>
 *   for artifact in kafka-clients connect-runtime connect-api; do
 *     mvn dependency:copy -Dartifact=org.apache.kafka:$artifact:4.3.1 -DoutputDirectory=jars; done
 *   mvn dependency:copy -Dartifact=org.slf4j:slf4j-api:1.7.36 -DoutputDirectory=jars
 *   java -cp 'jars/*' GoldenConnect.java > connect.jsonl
 * </pre>
 *
 * <p>A line is one worker: name (protocol and case), metadata and assignment in hexadecimal digits, and the work that
 * they contain: allocation is what the worker had, assigned and revoked are what the leader changes. A connector itself
 * is task -1.
 */
public final class GoldenConnect {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private static final String URL = "http://worker-1:8083/";
    private static final String LEADER_URL = "http://worker-ü:8083/";

    private record Work(Collection<String> connectors, Collection<ConnectorTaskId> tasks) {
        static final Work NONE = new Work(List.of(), List.of());

        String json() {
            List<String> pairs = connectors.stream().map(name -> "[\"" + name + "\", -1]").collect(Collectors.toList());
            tasks.forEach(task -> pairs.add("[\"" + task.connector() + "\", " + task.task() + "]"));
            return "[" + String.join(", ", pairs) + "]";
        }
    }

    public static void main(String[] args) {
        Work files = new Work(List.of("files"), List.of(task("files", 0), task("files", 2)));
        Work others = new Work(List.of("other-ü"), List.of(task("files", 1), task("other-ü", 0)));
        Work oneTask = new Work(List.of(), List.of(task("files", 0)));
        printEager("default", files, ConnectProtocol.Assignment.NO_ERROR);
        printEager("default, no work", Work.NONE, ConnectProtocol.Assignment.NO_ERROR);
        printEager("default, mismatch", Work.NONE, ConnectProtocol.Assignment.CONFIG_MISMATCH);
        for (boolean sessioned : new boolean[] {false, true}) {
            String name = sessioned ? "sessioned" : "compatible";
            print(name + ", first assignment", sessioned, null, files, Work.NONE, 0);
            print(name + ", no change", sessioned, files, Work.NONE, Work.NONE, 0);
            print(name + ", more", sessioned, files, others, Work.NONE, 0);
            print(name + ", revoked", sessioned, files, Work.NONE, oneTask, 0);
            print(name + ", moved", sessioned, files, others, files, 0);
            print(name + ", delay", sessioned, oneTask, Work.NONE, Work.NONE, 299_999);
            print(name + ", no work", sessioned, null, Work.NONE, Work.NONE, 0);
        }
        OUT.flush();
    }

    private static ConnectorTaskId task(String connector, int number) {
        return new ConnectorTaskId(connector, number);
    }

    private static void printEager(String name, Work assigned, short error) {
        ByteBuffer metadata = ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState(URL, 41));
        ByteBuffer assignment = ConnectProtocol.serializeAssignment(new ConnectProtocol.Assignment(
                error, "worker-2", LEADER_URL, 42, assigned.connectors(), assigned.tasks()));
        print(name, metadata, assignment, error, Work.NONE, assigned, Work.NONE, 0);
    }

    private static void print(String name, boolean sessioned, Work allocation, Work assigned, Work revoked, int delay) {
        ExtendedAssignment before = allocation == null ? null : extended(sessioned, allocation, Work.NONE, 0);
        ByteBuffer metadata = IncrementalCooperativeConnectProtocol.serializeMetadata(
                new ExtendedWorkerState(URL, 41, before), sessioned);
        ByteBuffer assignment = IncrementalCooperativeConnectProtocol.serializeAssignment(
                extended(sessioned, assigned, revoked, delay), sessioned);
        Work held = allocation == null ? Work.NONE : allocation;
        print(name, metadata, assignment, ConnectProtocol.Assignment.NO_ERROR, held, assigned, revoked, delay);
    }

    private static ExtendedAssignment extended(boolean sessioned, Work assigned, Work revoked, int delay) {
        short version = sessioned
                ? IncrementalCooperativeConnectProtocol.CONNECT_PROTOCOL_V2
                : IncrementalCooperativeConnectProtocol.CONNECT_PROTOCOL_V1;
        return new ExtendedAssignment(version, ConnectProtocol.Assignment.NO_ERROR, "worker-2", LEADER_URL, 42,
                assigned.connectors(), assigned.tasks(), revoked.connectors(), revoked.tasks(), delay);
    }

    private static void print(
            String name, ByteBuffer metadata, ByteBuffer assignment, short error,
            Work allocation, Work assigned, Work revoked, int delay) {
        OUT.printf(
                "{\"name\": \"%s\", \"error\": %d, \"delay\": %d, \"allocation\": %s, \"assigned\": %s, \"revoked\": %s,"
                        + " \"metadata\": \"%s\", \"assignment\": \"%s\"}\n",
                name, error, delay, allocation.json(), assigned.json(), revoked.json(), hex(metadata), hex(assignment));
    }

    private static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
