package dev.banyan.cli.gpuday;

import java.util.ArrayList;
import java.util.List;

/**
 * What the part {@code cards} found.
 *
 * @param facts none if it failed
 */
record KnownGpus(List<Fact> facts) {
    static final KnownGpus NONE = new KnownGpus(List.of());

    private static final double GIB = 1L << 30;

    KnownGpus {
        facts = List.copyOf(facts);
    }

    /** Number of GPUs; 0 if it is not known. */
    int count() {
        return facts.stream()
                .filter(fact -> fact.name().equals("GPUs"))
                .mapToInt(fact -> Integer.parseInt(fact.value()))
                .findFirst()
                .orElse(0);
    }

    /** Free memory of the first GPU in bytes; 0 if it is not known. */
    long freeBytes() {
        String bytes = of(0, "bytes of free memory");
        return bytes.isEmpty() ? 0 : Long.parseLong(bytes);
    }

    String driver() {
        return facts.stream()
                .filter(fact -> fact.name().equals("driver"))
                .map(Fact::value)
                .findFirst()
                .orElse("not known, as the part cards is not done");
    }

    /** A line for each GPU. */
    List<String> cards() {
        List<String> cards = new ArrayList<>();
        for (int gpu = 0; gpu < count() && !of(gpu, "card").isEmpty(); gpu++) {
            String bytes = of(gpu, "bytes of memory");
            cards.add(of(gpu, "card") + ", sm_" + of(gpu, "capability").replace(".", "") + ", "
                    + of(gpu, "multiprocessors") + " multiprocessors, "
                    + (bytes.isEmpty() ? "" : Math.round(10 * Long.parseLong(bytes) / GIB) / 10.0 + " GiB, ")
                    + of(gpu, "bus id"));
        }
        return cards;
    }

    private String of(int gpu, String name) {
        return facts.stream()
                .filter(fact -> fact.name().equals(name)
                        && Integer.toString(gpu).equals(fact.of().get("GPU")))
                .map(Fact::value)
                .findFirst()
                .orElse("");
    }
}
