package dev.banyan.reduce.internal.sum;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.reduce.internal.sum.SumOracle.Kind;
import dev.banyan.schedule.type.DataType;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The published vectors are those of the oracle, and the sums of the library. */
class VectorsTest {
    private static final Path FILE = Path.of("..", "..", "docs", "reproducible-vectors.csv");
    /** As many elements as the longest vectors have. */
    private static final int COPIES = 32;

    private static final int[] CONTRIBUTIONS = {1, 2, 3, 8, 16, 17};

    /** Writes the file anew if the system property banyan.vectors.write is true. */
    @Test
    void theFileHasTheVectorsOfTheOracle() throws IOException {
        List<String> lines = vectors();
        if (Boolean.getBoolean("banyan.vectors.write")) {
            Files.write(FILE, lines);
        }
        assertThat(Files.readAllLines(FILE)).isEqualTo(lines);
    }

    @Test
    void theLibraryHasTheResultsOfTheFile() throws IOException {
        List<String> lines = Files.readAllLines(FILE);
        for (String line : lines.subList(1, lines.size())) {
            String[] fields = line.split(",");
            DataType type = DataType.valueOf(fields[0]);
            long[] values = Arrays.stream(fields[2].split(" "))
                    .mapToLong(value -> Long.parseUnsignedLong(value, 16))
                    .toArray();
            assertThat(result(type, values, fields[1].equals("AVG")))
                    .as(line)
                    .isEqualTo(Long.parseUnsignedLong(fields[3], 16));
            assertThat(blockResult(type, values, fields[1].equals("AVG")))
                    .as(line)
                    .isEqualTo(Long.parseUnsignedLong(fields[3], 16));
        }
    }

    /** Sums copies of the numbers, as many as a vector has. */
    private static long blockResult(DataType type, long[] values, boolean isMean) {
        SumBlock block = new SumBlock(new ReproducibleSum(type, values.length, isMean));
        ByteBuffer[] inputs = new ByteBuffer[values.length];
        for (int v = 0; v < values.length; v++) {
            inputs[v] = ByteBuffer.allocateDirect(COPIES * type.bytes()).order(ByteOrder.nativeOrder());
            for (int copy = 0; copy < COPIES; copy++) {
                put(inputs[v], copy * type.bytes(), type, values[v]);
            }
        }
        ByteBuffer result = ByteBuffer.allocateDirect(COPIES * type.bytes()).order(ByteOrder.nativeOrder());
        block.sum(
                Arrays.stream(inputs).map(MemorySegment::ofBuffer).toArray(MemorySegment[]::new),
                0,
                new MemorySegment[] {MemorySegment.ofBuffer(result)},
                0,
                COPIES);
        return switch (type.bytes()) {
            case 8 -> result.getLong(0);
            case 4 -> Integer.toUnsignedLong(result.getInt(0));
            default -> Short.toUnsignedLong(result.getShort(0));
        };
    }

    private static void put(ByteBuffer buffer, int offset, DataType type, long value) {
        switch (type.bytes()) {
            case 8 -> buffer.putLong(offset, value);
            case 4 -> buffer.putInt(offset, (int) value);
            default -> buffer.putShort(offset, (short) value);
        }
    }

    private static long result(DataType type, long[] values, boolean isMean) {
        ReproducibleSum sum = new ReproducibleSum(type, values.length, isMean);
        SumOracle oracle = new SumOracle(type);
        double[] numbers = Arrays.stream(values).mapToDouble(oracle::asDouble).toArray();
        int code = Arrays.stream(numbers).mapToInt(sum::code).max().orElseThrow();
        return sum.result(
                Arrays.stream(numbers)
                        .mapToLong(number -> sum.integer(number, code))
                        .sum(),
                code);
    }

    private static List<String> vectors() {
        List<String> lines = new ArrayList<>(List.of("type,operation,contributions,result"));
        for (DataType type : List.of(DataType.F32, DataType.F64, DataType.F16, DataType.BF16)) {
            SumOracle oracle = new SumOracle(type);
            Random random = new Random(type.bytes());
            for (int contributions : CONTRIBUTIONS) {
                for (Kind kind : Kind.values()) {
                    long[] values = oracle.sample(kind, contributions, random);
                    for (boolean mean : new boolean[] {false, true}) {
                        lines.add(type + (mean ? ",AVG," : ",SUM,")
                                + Arrays.stream(values)
                                        .mapToObj(value -> hexadecimal(type, value))
                                        .collect(Collectors.joining(" "))
                                + "," + hexadecimal(type, oracle.defined(values, mean)));
                    }
                }
            }
        }
        return lines;
    }

    private static String hexadecimal(DataType type, long value) {
        int digits = 2 * type.bytes();
        String text = String.format("%016x", value);
        return text.substring(text.length() - digits);
    }
}
