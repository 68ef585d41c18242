package dev.banyan.schedule.type;

/**
 * A collective operation over n ranks. With {@code count} elements:
 *
 * <table>
 * <caption>Elements of each rank's buffers</caption>
 * <tr><th>collective</th><th>input</th><th>output</th></tr>
 * <tr><td>all_reduce</td><td>count</td><td>count</td></tr>
 * <tr><td>reduce</td><td>count</td><td>count, at the root only</td></tr>
 * <tr><td>broadcast</td><td>count, at the root only</td><td>count</td></tr>
 * <tr><td>reduce_scatter</td><td>n count: block r is for rank r</td><td>count</td></tr>
 * <tr><td>all_gather</td><td>count</td><td>n count: block r is rank r's</td></tr>
 * </table>
 *
 * <p>In place, input and output of a rank are the same memory; for reduce_scatter the output of rank
 * r is block r of its input, for all_gather the input of rank r is block r of its output, as in NCCL.
 */
public enum Collective {
    /** Every rank gets the reduction of all inputs. */
    ALL_REDUCE("all_reduce"),
    /** The root gets the reduction of all inputs. */
    REDUCE("reduce"),
    /** Every rank gets the root's input. */
    BROADCAST("broadcast"),
    /** Rank r gets block r of the reduction of all inputs. */
    REDUCE_SCATTER("reduce_scatter"),
    /** Every rank gets the inputs of all ranks, in the order of ranks. */
    ALL_GATHER("all_gather");

    private final String label;

    Collective(String label) {
        this.label = label;
    }

    /** Returns the name as nccl-tests write it, e.g. {@code all_reduce}. */
    public String label() {
        return label;
    }

    /** Returns whether it combines elements of several ranks. */
    public boolean reduces() {
        return this == ALL_REDUCE || this == REDUCE || this == REDUCE_SCATTER;
    }

    /** Returns whether one rank is the root: of reduce and broadcast. */
    public boolean hasRoot() {
        return this == REDUCE || this == BROADCAST;
    }

    /**
     * Returns the factor by which nccl-tests multiply algbw to get busbw.
     *
     * @param ranks number of ranks n, at least 1
     */
    public double busFactor(int ranks) {
        double n = ranks;
        return switch (this) {
            case ALL_REDUCE -> 2 * (n - 1) / n;
            case REDUCE_SCATTER, ALL_GATHER -> (n - 1) / n;
            case REDUCE, BROADCAST -> 1;
        };
    }

    /**
     * Returns the number of elements of a rank's input, where it has one.
     *
     * @param count elements, as the table above counts them
     * @param ranks number of ranks n, at least 1
     * @throws ArithmeticException if 64 bits do not count them
     */
    public long inputElements(long count, int ranks) {
        return this == REDUCE_SCATTER ? Math.multiplyExact(count, ranks) : count;
    }

    /**
     * Returns the number of elements of a rank's output, where it has one.
     *
     * @param count elements, as the table above counts them
     * @param ranks number of ranks n, at least 1
     * @throws ArithmeticException if 64 bits do not count them
     */
    public long outputElements(long count, int ranks) {
        return this == ALL_GATHER ? Math.multiplyExact(count, ranks) : count;
    }
}
