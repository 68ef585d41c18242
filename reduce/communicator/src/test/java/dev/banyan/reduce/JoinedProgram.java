package dev.banyan.reduce;

import dev.banyan.config.Config;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.io.PrintStream;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.IntStream;

/**
 * A process that joins with one rank, and sums up arrays of many lengths until something fails: now and then in memory
 * that is not shared, which goes through windows. It prints a line after each call, and why the last one failed.
 */
final class JoinedProgram {
    private static final int MOST_ELEMENTS = 1 << 16;
    /** Long arrays in other memory have several windows. */
    private static final int TIMES_AS_LONG = 8;

    private JoinedProgram() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        int processes = Integer.parseInt(arguments[0]);
        Machine machine = Machine.preset("p3.16xlarge")
                .subset(IntStream.range(0, processes).toArray());
        try (Communicator joined = Communicator.join(machine, Config.load(), 1)) {
            MemorySegment shared = joined.allocate(joined.firstRank(), MOST_ELEMENTS * 4L);
            MemorySegment other = Arena.global().allocate(TIMES_AS_LONG * MOST_ELEMENTS * 4L, 64);
            for (int call = 1; ; call++) {
                boolean isShared = call % 8 != 0;
                MemorySegment buffer = isShared ? shared : other;
                int count =
                        isShared ? 1 + call * 37 % MOST_ELEMENTS : TIMES_AS_LONG * (1 + call * 3701 % MOST_ELEMENTS);
                for (long i = 0; i < count; i++) {
                    buffer.setAtIndex(ValueLayout.JAVA_FLOAT, i, call % 100);
                }
                joined.allReduce(List.of(buffer), count, DataType.F32, ReduceOp.SUM);
                for (long i = 0; i < count; i++) {
                    if (buffer.getAtIndex(ValueLayout.JAVA_FLOAT, i) != (float) (call % 100 * processes)) {
                        out.println("wrong element " + i + " of call " + call);
                        return;
                    }
                }
                out.println("call " + call);
            }
        } catch (RuntimeException e) {
            out.println("failed: " + e.getMessage());
        }
    }
}
