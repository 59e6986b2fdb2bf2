import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.utils.Utils;

/** Prints, for keys of every kind, what the Java client makes of them: one JSON object a line. */
public class Vectors {
    static final int[] COUNTS = {1, 2, 3, 4, 12, 50, 1000};

    public static void main(String[] arguments) {
        List<byte[]> keys = new ArrayList<>();
        for (String text : new String[] {"", "a", "ab", "abc", "abcd", "21", "foobar", "s/session-1", "r/run-1",
                "s/größe", "r/日本語", "s/a/b%2Fc", "r/" + "x".repeat(256)}) {
            keys.add(text.getBytes(StandardCharsets.UTF_8));
        }
        Random random = new Random(20260304);
        for (int length = 0; length < 64; length++) {
            byte[] key = new byte[length];
            random.nextBytes(key);
            keys.add(key);
        }
        for (byte[] key : keys) {
            StringBuilder partitions = new StringBuilder();
            for (int count : COUNTS) {
                partitions.append(partitions.length() == 0 ? "" : ", ");
                partitions.append('"').append(count).append("\": ");
                partitions.append(BuiltInPartitioner.partitionForKey(key, count));
            }
            System.out.printf("{\"key\": \"%s\", \"murmur2\": %d, \"partitions\": {%s}}%n",
                    HexFormat.of().formatHex(key), Utils.murmur2(key), partitions);
        }
    }
}
