package dev.banyan.schedule.plan;

import dev.banyan.config.Bytes;
import dev.banyan.config.Setting;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The algorithms of calls by size. As text, choices separated by commas, each followed by a colon and the greatest size
 * that it is for: {@code star:4K,single-tree@64K:1M,packing/8} is the star up to 4 KiB, a single tree in chunks of at
 * most 64 KiB up to 1 MiB, and at most 8 packed trees above. A last choice without a size is for all greater sizes; if
 * every choice has a size, {@code auto} is.
 *
 * @param rules by ascending size; the last has no greatest size
 */
public record SizeRules(List<Rule> rules) {
    /** The automatic choice for every size. */
    public static final SizeRules AUTO = always(AlgorithmChoice.AUTO);

    /**
     * A choice for some sizes.
     *
     * @param choice the algorithm
     * @param upToBytes greatest size in bytes, of the larger of a rank's buffers; {@link Long#MAX_VALUE} for no limit
     */
    public record Rule(AlgorithmConfig choice, long upToBytes) {
        public Rule {
            Objects.requireNonNull(choice, "choice");
            if (upToBytes < 1) {
                throw new IllegalArgumentException(
                        choice + " is for calls of up to " + upToBytes + " bytes; it must be for at least 1");
            }
        }

        @Override
        public String toString() {
            return choice + (upToBytes < Long.MAX_VALUE ? ":" + Bytes.text(upToBytes) : "");
        }
    }

    /**
     * @throws IllegalArgumentException if there is no rule, or sizes don't ascend
     */
    public SizeRules {
        rules = List.copyOf(rules);
        for (int i = 1; i < rules.size(); i++) {
            if (rules.get(i).upToBytes() <= rules.get(i - 1).upToBytes()) {
                throw new IllegalArgumentException(rules.get(i) + " comes after " + rules.get(i - 1)
                        + "; sizes must ascend, and only the last choice may have none");
            }
        }
        if (rules.isEmpty() || rules.getLast().upToBytes() < Long.MAX_VALUE) {
            throw new IllegalArgumentException("nothing is said of the largest calls; add a rule without an end");
        }
    }

    /** Returns rules with one algorithm for every size. */
    public static SizeRules always(AlgorithmChoice choice) {
        return always(AlgorithmConfig.of(choice));
    }

    /** Returns rules with one choice for every size. */
    public static SizeRules always(AlgorithmConfig choice) {
        return new SizeRules(List.of(new Rule(choice, Long.MAX_VALUE)));
    }

    /** Declares a setting that is such a list. */
    static Setting<SizeRules> setting(String name, String meaning) {
        String names =
                Stream.of(AlgorithmChoice.values()).map(AlgorithmChoice::label).collect(Collectors.joining(", "));
        return Setting.of(
                name,
                "one of " + names + ", or a list by size such as star:4K,single-tree@64K:1M,packing/8",
                SizeRules::parse,
                AUTO,
                meaning);
    }

    /**
     * Reads the text.
     *
     * @throws IllegalArgumentException if it is no such list
     */
    public static SizeRules parse(String text) {
        List<Rule> rules = new ArrayList<>();
        for (String entry : text.split(",", -1)) {
            int colon = entry.indexOf(':');
            String choice = (colon < 0 ? entry : entry.substring(0, colon)).strip();
            rules.add(new Rule(
                    AlgorithmConfig.parse(choice),
                    colon < 0
                            ? Long.MAX_VALUE
                            : Bytes.parse(entry.substring(colon + 1).strip())));
        }
        if (rules.getLast().upToBytes() < Long.MAX_VALUE) {
            rules.add(AUTO.rules().getFirst());
        }
        return new SizeRules(rules);
    }

    /** Returns the choice for a size in bytes, of the larger of a rank's buffers. */
    public AlgorithmConfig of(long bytes) {
        return rules.stream()
                .filter(rule -> bytes <= rule.upToBytes())
                .findFirst()
                .orElseThrow()
                .choice();
    }

    /** Returns whether the automatic choice decides for some size. */
    public boolean leavesOpen() {
        return rules.stream().anyMatch(rule -> rule.choice().algorithm() == AlgorithmChoice.AUTO);
    }

    /** Returns the text that {@link #parse} reads. */
    @Override
    public String toString() {
        return rules.stream().map(Rule::toString).collect(Collectors.joining(","));
    }
}
