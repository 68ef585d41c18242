package dev.banyan.gpuday;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import jcuda.Pointer;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUfunction;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Round trips of a flag: between two blocks of one grid, which are on the GPU at once as nothing else is there, and
 * between two GPUs with a block each. {@code flags.ptx} says how they are played, and bounds each wait. Then the same
 * with slices of 16 KiB, which {@code slices.ptx} describes: what a slice costs with each kind of load.
 */
final class FlagRounds {
    private static final int ROUNDS = 2000;
    private static final int ROUNDS_QUICK = 20;
    private static final int SECONDS = 3;
    /** The words of one player's result. */
    private static final int RESULT_WORDS = 4;
    /** Flags lie in lines of their own. */
    private static final long LINE = 256;

    private static final long RESULTS = 4 * LINE;
    /** Each player's slice lies behind the first 4 KiB from a flag on. */
    private static final long BYTES = LINE + (4 << 10) + 2 * (16 << 10);

    private final Recorder recorder;
    private final Effort effort;

    /** The failures so far: a part that goes on measures the other ways too. */
    private final List<String> lost = new ArrayList<>();

    FlagRounds(Recorder recorder, Effort effort) {
        this.recorder = recorder;
        this.effort = effort;
    }

    /** A game: its figure, the kind of access to flags, the kernel and its threads. */
    private record Game(String figure, String access, Kernel kernel, int threads) {
        static Game flags(Kernel.FlagAccess access) {
            return new Game("flag round trip", access.label(), access.flags(), 32);
        }

        static Game slices(Kernel.FlagAccess access) {
            return new Game("slice", access.label(), access.slices(), 544);
        }
    }

    /** A GPU with the flag of its player, and where its player's results go. */
    private static final class Side {
        final Gpu gpu;
        final CUfunction function;
        final int threads;
        final CUstream stream;
        final Address memory;

        Side(Gpu gpu, Game game) {
            this.gpu = gpu;
            function = gpu.function(game.kernel);
            threads = game.threads;
            stream = gpu.stream();
            memory = gpu.memory(BYTES);
            // The first launch loads the kernel, which may wait for all work of the GPU, and so for a player. This one
            // gives up at once.
            clear();
            play(1, 1, memory, memory.plus(LINE), 0, 0);
            gpu.await(stream);
        }

        void clear() {
            gpu.enter();
            gpu.check(JCudaDriver.cuMemsetD8Async(memory, (byte) 0, BYTES, stream), "cuMemsetD8Async");
            gpu.await(stream);
        }

        /** Ticks of the GPU's clock after which a player gives up; that clock may be slower than is stated. */
        long limit() {
            long clockInKHz = gpu.attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
            return SECONDS * 1000 * Math.max(clockInKHz, 1_000_000);
        }

        void play(int blocks, int first, Address flag0, Address flag1, int rounds, long limit) {
            gpu.enter();
            gpu.launch(
                    function,
                    blocks,
                    threads,
                    stream,
                    Pointer.to(flag0),
                    Pointer.to(flag1),
                    Pointer.to(memory.plus(RESULTS)),
                    Pointer.to(new long[] {limit}),
                    Pointer.to(new int[] {first}),
                    Pointer.to(new int[] {rounds}));
        }

        /** The results of a player: rounds, ticks, ns, whether a flag was lost. */
        long[] results(int player) {
            gpu.await(stream);
            long[] words = new long[RESULT_WORDS];
            gpu.check(
                    JCudaDriver.cuMemcpyDtoH(
                            Pointer.to(words),
                            memory.plus(RESULTS + (long) player * RESULT_WORDS * Long.BYTES),
                            (long) RESULT_WORDS * Long.BYTES),
                    "cuMemcpyDtoH");
            return words;
        }
    }

    void run() {
        try (Gpus gpus = Gpus.open()) {
            for (Kernel.FlagAccess access : Kernel.FlagAccess.values()) {
                run(Game.flags(access), gpus);
            }
            run(Game.slices(Kernel.FlagAccess.RELAXED), gpus);
            run(Game.slices(Kernel.FlagAccess.ACQUIRE_RELEASE), gpus);
        }
        if (!lost.isEmpty()) {
            throw new MeasurementException("flags were lost " + String.join("; ", lost));
        }
    }

    private void run(Game game, Gpus gpus) {
        Side first = new Side(gpus.first(), game);
        measure(game, first, first);
        String what = game.figure + ", " + game.access;
        if (gpus.list().size() == 1) {
            recorder.note(what + ", between GPUs: left out, as there is one GPU");
        }
        for (Gpu one : gpus.list()) {
            for (Gpu other : gpus.list()) {
                if (one.ordinal() >= other.ordinal()) {
                    continue;
                }
                if (effort.isOver()) {
                    recorder.note("time was over before " + what + ", between " + one + " and " + other);
                    return;
                }
                if (one.reaches(other) && other.reaches(one)) {
                    measure(game, new Side(one, game), new Side(other, game));
                } else {
                    recorder.note(
                            what + ", between " + one + " and " + other + ": left out, as they have no peer access");
                }
            }
        }
    }

    private void measure(Game game, Side zero, Side one) {
        int rounds = (int) effort.choose(ROUNDS, ROUNDS_QUICK);
        boolean together = zero.equals(one);
        Map<String, String> of = new LinkedHashMap<>();
        of.put("between", together ? "two blocks of " + zero.gpu : zero.gpu + " and " + one.gpu);
        of.put("access", game.access);
        double[] micros;
        try {
            micros = Samples.of(effort, () -> play(zero, one, rounds));
        } catch (LostFlagException e) {
            lost.add("between " + of.get("between") + ", " + game.access + ": " + e.getMessage());
            return;
        }
        recorder.figure(Figure.of(game.figure, of, "us", micros));
    }

    /** A player gave up. */
    private static final class LostFlagException extends RuntimeException {
        private static final long serialVersionUID = 1;

        LostFlagException(String message) {
            super(message);
        }
    }

    /** Time in us of a round as player 0 saw it. */
    private static double play(Side zero, Side one, int rounds) {
        boolean together = zero.equals(one);
        zero.clear();
        Address flag0 = zero.memory;
        Address flag1 = together ? zero.memory.plus(LINE) : one.memory;
        if (together) {
            zero.play(2, 0, flag0, flag1, rounds, zero.limit());
        } else {
            one.clear();
            zero.play(1, 0, flag0, flag1, rounds, zero.limit());
            one.play(1, 1, flag0, flag1, rounds, one.limit());
        }
        long[] results = zero.results(0);
        long[] others = one.results(1);
        if (results[3] != 0 || others[3] != 0) {
            throw new LostFlagException("a flag did not arrive within " + SECONDS + " s after "
                    + Math.min(results[0], others[0]) + " of " + rounds + " rounds");
        }
        if (results[0] != rounds || others[0] != rounds) {
            throw new MeasurementException("players of flags report " + results[0] + " and " + others[0] + " of "
                    + rounds + " rounds on " + zero.gpu + " and " + one.gpu);
        }
        return results[2] / 1e3 / Math.max(1, rounds);
    }
}
