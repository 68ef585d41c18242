package dev.banyan.schedule.internal.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.banyan.reduce.backend.Executable;
import dev.banyan.reduce.host.HostBackend;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.ScheduleProof;
import dev.banyan.schedule.ScheduleVerifier;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.PackedTree;
import dev.banyan.trees.packing.TreePacking;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;
import java.util.SplittableRandom;

/** The conditions of every packing that is run. */
final class PackingChecks {
    private static final int ELEMENT_BYTES = 4;
    private static final int UNIT = 64;

    private PackingChecks() {}

    /** Element counts from none to large; the large one is cut at whole units. */
    static final long[] COUNTS = {0, 1, 5, 31, 1000, 1 << 18};

    static CollectiveRequest request(Collective collective, int root, long count, boolean inPlace) {
        return new CollectiveRequest(collective, root, count, ELEMENT_BYTES, inPlace, Long.MAX_VALUE);
    }

    /** Every collective, in place and not, of every count, passes the verifier. */
    static void verifyAll(PackedAlgorithm algorithm) {
        for (Collective collective : Collective.values()) {
            for (int root : Samples.roots(collective, algorithm.ranks())) {
                for (long count : COUNTS) {
                    for (boolean inPlace : new boolean[] {false, true}) {
                        ScheduleVerifier.verify(algorithm.schedule(request(collective, root, count, inPlace)));
                    }
                }
            }
        }
    }

    /**
     * On direct links, a schedule moves over every link what the shares of the trees say, within one unit of
     * alignment each time that a tree takes it. The bytes are the verifier's; the shares are summed here.
     */
    static void checkBytes(PackedAlgorithm algorithm, Collective collective, int root) {
        TreePacking packing = algorithm.packing(collective, root);
        Network network = packing.network();
        int n = network.ranks();
        long count = 1 << 18;
        ScheduleProof proof = ScheduleVerifier.verify(algorithm.schedule(request(collective, root, count, true)));
        double bytes = (double) Math.max(collective.inputElements(count, n), collective.outputElements(count, n))
                * ELEMENT_BYTES;
        double[][] expected = new double[n][n];
        int[][] uses = new int[n][n];
        for (PackedTree tree : packing.trees()) {
            if (collective.reduces()) {
                for (int[] edge : tree.up().edges()) {
                    expected[edge[1]][edge[0]] += bytes * tree.share().doubleValue();
                    uses[edge[1]][edge[0]]++;
                }
            }
            if (collective == Collective.ALL_REDUCE || !collective.reduces()) {
                for (int[] edge : tree.down().edges()) {
                    expected[edge[0]][edge[1]] += bytes * tree.share().doubleValue();
                    uses[edge[0]][edge[1]]++;
                }
            }
        }
        double slowest = 0;
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                assertThat((double) proof.bytesBetween(a, b))
                        .as("%s from %d to %d", collective, a, b)
                        .isCloseTo(expected[a][b], within(UNIT * uses[a][b] + 1e-3));
                if (network.direct() && uses[a][b] > 0) {
                    slowest = Math.max(slowest, expected[a][b] / network.gbs(network.arc(a, b)));
                }
            }
        }
        if (network.direct()) {
            assertThat(bytes / slowest / packing.rateGbs().doubleValue()).isCloseTo(1, within(1e-9));
        }
    }

    /** Runs a collective of random integers on the host and compares every element with a plain loop's. */
    static void run(PackedAlgorithm algorithm, HostBackend backend, CollectiveRequest request, long seed) {
        Collective collective = request.collective();
        int n = algorithm.ranks();
        int count = (int) request.count();
        int inputs = (int) collective.inputElements(count, n);
        int outputs = (int) collective.outputElements(count, n);
        int elements = request.inPlace() ? Math.max(inputs, outputs) : inputs;
        SplittableRandom random = new SplittableRandom(seed);
        int[][] before = new int[n][elements];
        MemorySegment[] in = new MemorySegment[n];
        MemorySegment[] out = new MemorySegment[n];
        for (int r = 0; r < n; r++) {
            Arrays.setAll(before[r], i -> random.nextInt());
            in[r] = backend.allocate(r, 4L * elements).copyFrom(MemorySegment.ofArray(before[r]));
            out[r] = request.inPlace() ? in[r] : backend.allocate(r, 4L * outputs);
        }
        Schedule schedule = algorithm.schedule(request);
        try (Executable executable = backend.prepare(schedule, DataType.I32, ReduceOp.SUM)) {
            executable.run(in, out);
        }
        for (int r = 0; r < n; r++) {
            int[] got = out[r].toArray(ValueLayout.JAVA_INT);
            int[] expected = request.inPlace() ? before[r].clone() : new int[outputs];
            switch (collective) {
                case ALL_REDUCE -> fill(expected, 0, sums(before, 0, count));
                case REDUCE -> fill(expected, 0, r == request.root() ? sums(before, 0, count) : new int[0]);
                case BROADCAST -> fill(expected, 0, Arrays.copyOf(before[request.root()], count));
                case REDUCE_SCATTER ->
                    fill(expected, request.inPlace() ? r * count : 0, sums(before, r * count, count));
                case ALL_GATHER -> {
                    for (int q = 0; q < n; q++) {
                        int from = request.inPlace() ? q * count : 0;
                        fill(expected, q * count, Arrays.copyOfRange(before[q], from, from + count));
                    }
                }
            }
            assertThat(Arrays.equals(got, expected))
                    .as("output of rank %d of %s", r, request)
                    .isTrue();
        }
    }

    private static void fill(int[] target, int at, int[] values) {
        System.arraycopy(values, 0, target, at, values.length);
    }

    private static int[] sums(int[][] inputs, int from, int count) {
        int[] sums = new int[count];
        for (int[] input : inputs) {
            for (int i = 0; i < count; i++) {
                sums[i] += input[from + i];
            }
        }
        return sums;
    }
}
