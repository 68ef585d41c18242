package dev.banyan.cli.bench;

import dev.banyan.schedule.plan.AlgorithmChoice;
import org.jspecify.annotations.Nullable;

/**
 * One line of the table: one algorithm at one size.
 *
 * @param algorithm what carried the call out
 * @param call the call
 * @param count elements, as the collective counts them
 */
record Row(AlgorithmChoice algorithm, Call call, long count, Measurement outOfPlace, Measurement inPlace) {
    long bytes() {
        return call.size(count);
    }

    /** Wrong elements in and out of place; 0 if not checked. */
    long wrong() {
        return number(outOfPlace.wrong()) + number(inPlace.wrong());
    }

    private static long number(@Nullable Long wrong) {
        return wrong == null ? 0 : wrong;
    }

    /** The row as JSON has it: the figures out of place, then those in place. */
    record Report(
            String algorithm,
            String collective,
            long bytes,
            long count,
            String type,
            String op,
            double timeUs,
            double algbwGBs,
            double busbwGBs,
            @Nullable Long wrong,
            double medianUs,
            int runs,
            int root,
            int ranks,
            Measurement inPlace) {}

    Report report() {
        return new Report(
                algorithm.label(),
                call.collective().label(),
                bytes(),
                count,
                call.element().label(),
                call.opLabel(),
                outOfPlace.timeUs(),
                outOfPlace.algbwGBs(),
                outOfPlace.busbwGBs(),
                outOfPlace.wrong(),
                outOfPlace.medianUs(),
                outOfPlace.runs(),
                call.root(),
                call.ranks(),
                inPlace);
    }
}
