package dev.banyan.gpuday;

import dev.banyan.config.Config;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Writes arrays of the JVM's heap to GPUs, sums them up at once, and compares every element. A copy from memory that is
 * not pinned may return before its bytes have arrived, which is so for small ones above all; a collective that did not
 * wait for them would sum up what was there before, and so each array differs from the one before it.
 */
public final class WriteStress {
    private static final int[] COUNTS = {1, 255, 1024, 4099, 16_383, 16_384, 16_385, 65_536, 1_000_003};
    private static final int[] QUICK_COUNTS = {1, 4099, 16_385};
    private static final int ROUNDS = 200;
    private static final int QUICK_ROUNDS = 2;
    private static final int MOST_GPUS = 8;
    /** Sums of such numbers are exact in f32. */
    private static final int VALUES = 9973;

    private final Recorder recorder;
    private final boolean quick;
    private final long end;

    /** @param time after which nothing further is begun */
    public WriteStress(Recorder recorder, boolean quick, Duration time) {
        this.recorder = recorder;
        this.quick = quick;
        end = System.nanoTime() + time.toNanos();
    }

    /**
     * Measures on the calling thread.
     *
     * @throws IllegalStateException if an element is wrong
     */
    public void run() {
        int gpus = Math.min(CudaDevices.count(), MOST_GPUS);
        run("two ranks on one GPU", new int[] {0, 0});
        if (gpus > 1) {
            run("a rank on each of " + gpus + " GPUs", IntStream.range(0, gpus).toArray());
        } else {
            recorder.note("ranks on several GPUs are left out: there is one GPU");
        }
    }

    private void run(String ranks, int... gpus) {
        Machine machine = Machine.preset("p3.16xlarge")
                .subset(IntStream.range(0, gpus.length).toArray());
        long elements = 0;
        long wrong = 0;
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.STAR))
                .load();
        try (Communicator communicator = Communicator.onGpus(machine, config, gpus)) {
            int[] counts = quick ? QUICK_COUNTS : COUNTS;
            int most = Arrays.stream(counts).max().orElseThrow();
            List<MemorySegment> buffers = communicator.allocateAll((long) most * Float.BYTES);
            for (int round = 0; round < (quick ? QUICK_ROUNDS : ROUNDS); round++) {
                for (int count : counts) {
                    if (System.nanoTime() - end >= 0) {
                        recorder.note("time was over in round " + (round + 1) + " of " + ranks);
                        report(ranks, elements, wrong);
                        return;
                    }
                    wrong += round(communicator, buffers, count, round);
                    elements += (long) count * gpus.length;
                }
            }
        }
        report(ranks, elements, wrong);
    }

    private void report(String ranks, long elements, long wrong) {
        Map<String, String> of = Map.of("ranks", ranks);
        recorder.figure(Figure.of("elements compared", of, "elements", (double) elements));
        recorder.figure(Figure.of("wrong elements", of, "elements", (double) wrong));
        if (wrong > 0) {
            throw new IllegalStateException(wrong + " of " + elements + " elements of " + ranks
                    + " are wrong after a write that was followed at once by an all_reduce");
        }
    }

    /** Counts wrong elements. */
    private static long round(Communicator communicator, List<MemorySegment> buffers, int count, int round) {
        List<MemorySegment> parts = buffers.stream()
                .map(buffer -> buffer.asSlice(0, (long) count * Float.BYTES))
                .toList();
        for (int rank = 0; rank < parts.size(); rank++) {
            float[] values = new float[count];
            for (int i = 0; i < count; i++) {
                values[i] = value(round, rank, i);
            }
            communicator.copyToDevice(parts.get(rank), MemorySegment.ofArray(values));
        }
        communicator.run(CollectiveCall.allReduce(parts, count, DataType.F32, ReduceOp.SUM));
        long wrong = 0;
        float[] sums = new float[count];
        for (MemorySegment part : parts) {
            MemorySegment host = MemorySegment.ofArray(sums);
            communicator.copyToHost(part, host);
            for (int i = 0; i < count; i++) {
                float sum = 0;
                for (int rank = 0; rank < parts.size(); rank++) {
                    sum += value(round, rank, i);
                }
                if (host.getAtIndex(ValueLayout.JAVA_FLOAT, i) != sum) {
                    wrong++;
                }
            }
        }
        return wrong;
    }

    private static float value(int round, int rank, int i) {
        return (round * 7919L + rank * 104_729L + i * 31L) % VALUES;
    }
}
