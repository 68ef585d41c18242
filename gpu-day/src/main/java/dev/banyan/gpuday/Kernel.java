package dev.banyan.gpuday;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A kernel of a measurement.
 *
 * @param name of its entry
 * @param ptx its module
 */
record Kernel(String name, String ptx) {
    /** Does nothing. */
    static final Kernel NOTHING = new Kernel("banyan_day_nothing", resource("nothing.ptx"));
    /** Copies vectors of 16 bytes: target, source, number of vectors. */
    static final Kernel COPY = new Kernel("banyan_day_copy", resource("copy.ptx"));

    /** Sets a word of the host's memory: its address, the value. */
    static final Kernel WORD = new Kernel("banyan_day_word", resource("word.ptx"));

    /** The instructions that set and read a flag. */
    enum FlagAccess {
        VOLATILE("volatile", "st.volatile.global.u32", "ld.volatile.global.u32", false),
        RELAXED("relaxed, fence.acq_rel.sys", "st.relaxed.sys.global.u32", "ld.relaxed.sys.global.u32", true),
        ACQUIRE_RELEASE("acquire, release", "st.release.sys.global.u32", "ld.acquire.sys.global.u32", false);

        private final String label;
        private final String store;
        private final String load;
        private final boolean fenced;

        FlagAccess(String label, String store, String load, boolean fenced) {
            this.label = label;
            this.store = store;
            this.load = load;
            this.fenced = fenced;
        }

        String label() {
            return label;
        }

        /** Plays rounds of flags: the parameters are in {@code flags.ptx}. */
        Kernel flags() {
            return kernel("flags");
        }

        /** Plays rounds of slices, with the same parameters. */
        Kernel slices() {
            return kernel("slices");
        }

        private Kernel kernel(String game) {
            String name = "banyan_day_" + game + "_" + name().toLowerCase(Locale.ROOT);
            return new Kernel(
                    name,
                    resource(game + ".ptx")
                            .replace("<NAME>", name)
                            .replace("<STORE>", store)
                            .replace("<LOAD>", load)
                            .replace("<FENCE>", fenced ? "fence.acq_rel.sys;" : "// no fence"));
        }
    }

    /**
     * Sums up arrays of f32, a vector of 16 bytes a thread at a time: target, sources, number of vectors.
     *
     * @param inputs number of sources, at least 2
     */
    static Kernel sum(int inputs) {
        StringBuilder parameters = new StringBuilder();
        StringBuilder bases = new StringBuilder();
        StringBuilder loads = new StringBuilder();
        StringBuilder additions = new StringBuilder();
        for (int s = 0; s < inputs; s++) {
            parameters.append("\t.param .u64 source" + s + ",\n");
            bases.append("\tld.param.u64 %base" + s + ", [source" + s + "];\n");
            bases.append("\tcvta.to.global.u64 %base" + s + ", %base" + s + ";\n");
            loads.append("\tadd.u64 %rd8, %base" + s + ", %rd7;\n");
            loads.append("\tld.global.v4.f32 {" + x(s, 0) + ", " + x(s, 1) + ", " + x(s, 2) + ", " + x(s, 3)
                    + "}, [%rd8];\n");
            for (int lane = 0; s > 0 && lane < 4; lane++) {
                additions.append("\tadd.f32 " + x(0, lane) + ", " + x(0, lane) + ", " + x(s, lane) + ";\n");
            }
        }
        String name = "banyan_day_sum_" + inputs;
        return new Kernel(
                name,
                resource("sum.ptx")
                        .replace("<NAME>", name)
                        .replace("<PARAMETERS>\n", parameters)
                        .replace("<BASES>\n", bases)
                        .replace("<LOADS>\n", loads)
                        .replace("<ADDITIONS>\n", additions));
    }

    /** The register of one element of a source's vector. */
    private static String x(int source, int lane) {
        return "%x" + (4 * source + lane);
    }

    /** All kernels. */
    static List<Kernel> all() {
        return Stream.of(
                        Stream.of(NOTHING, COPY, WORD),
                        Stream.of(FlagAccess.values()).map(FlagAccess::flags),
                        Stream.of(FlagAccess.values()).map(FlagAccess::slices),
                        IntStream.rangeClosed(2, 8).mapToObj(Kernel::sum))
                .flatMap(kernels -> kernels)
                .toList();
    }

    private static String resource(String name) {
        try (InputStream in = Kernel.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("resource " + name + " is missing; the jar is not whole");
            }
            return new String(in.readAllBytes(), StandardCharsets.US_ASCII);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
