package dev.banyan.study.measured.sweep;

import java.util.Optional;

/** The collective that the columns and rates of a sweep show, by nccl-tests' name. */
final class SweepLayout {
    /** Factors of busbw at least this are of collectives between all ranks, or of two ranks. */
    private static final double WHOLE = 0.99;

    private SweepLayout() {}

    /**
     * Finds it.
     *
     * @param hasRoot whether there is a column of roots
     * @param redop the operation; empty if there is no column or it is blank
     * @param root the root; empty likewise
     * @param isInPlaceUnchecked whether results are checked out of place alone, as of alltoall
     * @param isUnchecked whether no results are checked
     */
    static Optional<String> of(
            boolean hasRoot,
            String redop,
            String root,
            SweepRates rates,
            boolean isInPlaceUnchecked,
            boolean isUnchecked) {
        boolean isPart = rates.isKnown() && rates.factor() < WHOLE;
        boolean isRooted = root.matches("[0-9]+");
        boolean reduces = namesOperation(redop);
        if (reduces && isInPlaceUnchecked && !isRooted) {
            // Older versions name an operation here, too.
            return Optional.of("sendrecv or alltoall");
        }
        if (reduces) {
            if (isRooted) {
                return Optional.of("reduce");
            }
            return Optional.of(rates.parts() > 1 || isPart ? "reduce_scatter" : "all_reduce");
        }
        if (isRooted) {
            return Optional.of(rates.parts() > 1 || isPart ? "gather or scatter" : "broadcast");
        }
        if (isInPlaceUnchecked) {
            return Optional.of("alltoall");
        }
        if (rates.parts() > 1 || isPart) {
            return Optional.of(isUnchecked ? SweepRun.GATHER_OR_ALLTOALL : "all_gather");
        }
        return rates.isKnown() ? Optional.of(hasRoot ? "sendrecv" : "broadcast") : Optional.empty();
    }

    /** Returns whether a column of operations names one. */
    static boolean namesOperation(String redop) {
        return !redop.isEmpty() && !redop.equals("none");
    }
}
