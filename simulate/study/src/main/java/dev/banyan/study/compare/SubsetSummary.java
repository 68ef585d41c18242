package dev.banyan.study.compare;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.DoubleSummaryStatistics;
import java.util.List;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Figures over several sets of devices, in the order of the JSON.
 *
 * @param size number of devices of each set, or null for all sets
 * @param subsets number of sets
 * @param nvlinkRings how many of them have a ring over NVLink alone
 * @param rateGBs of the packings
 * @param packing ratios of the packings to the bound
 * @param kernighanLin ratios of Kernighan-Lin's trees
 * @param rings ratios of the best sets of rings
 * @param ringsOverNvlink ratios of these where NVLink has a ring, if it has one for some set
 * @param star ratios of the best stars
 * @param mostTrees of a packing
 * @param greatestDepth of a packing
 * @param meanGenerationMs of a packing
 * @param relayGain rate with relays over rate without, where relays were asked for
 * @param fasterWithRelays how many sets gain by relays, where they were asked for
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record SubsetSummary(
        @Nullable Integer size,
        int subsets,
        int nvlinkRings,
        Spread rateGBs,
        Spread packing,
        Spread kernighanLin,
        Spread rings,
        @Nullable Spread ringsOverNvlink,
        Spread star,
        int mostTrees,
        int greatestDepth,
        double meanGenerationMs,
        @Nullable Spread relayGain,
        @Nullable Integer fasterWithRelays) {
    /** Least, mean and greatest of a figure. */
    public record Spread(double min, double mean, double max) {
        static Spread of(List<SubsetRow> rows, ToDoubleFunction<SubsetRow> figure) {
            DoubleSummaryStatistics statistics =
                    rows.stream().mapToDouble(figure).summaryStatistics();
            return new Spread(statistics.getMin(), statistics.getAverage(), statistics.getMax());
        }
    }

    /** Sums up at least one set. */
    public static SubsetSummary of(@Nullable Integer size, List<SubsetRow> rows) {
        List<SubsetRow> withRing = rows.stream().filter(SubsetRow::nvlinkRing).toList();
        boolean relays = rows.getFirst().relays() != null;
        return new SubsetSummary(
                size,
                rows.size(),
                withRing.size(),
                Spread.of(rows, SubsetRow::rateGBs),
                Spread.of(rows, SubsetRow::packing),
                Spread.of(rows, SubsetRow::kernighanLin),
                Spread.of(rows, SubsetRow::rings),
                withRing.isEmpty() ? null : Spread.of(withRing, SubsetRow::rings),
                Spread.of(rows, SubsetRow::star),
                rows.stream().mapToInt(SubsetRow::trees).max().orElseThrow(),
                rows.stream().mapToInt(SubsetRow::depth).max().orElseThrow(),
                rows.stream().mapToDouble(SubsetRow::generationMs).average().orElseThrow(),
                relays ? Spread.of(rows, SubsetRow::gain) : null,
                relays ? (int) rows.stream().filter(row -> row.gain() > 1).count() : null);
    }
}
