package dev.banyan.page.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Rate, depth and trees of one algorithm for an allreduce.
 *
 * @param algorithm index of the algorithm
 * @param rate GB/s of algbw at which the busiest link is full
 * @param exact the same as a fraction
 * @param load percent of a link's bandwidth that is used at that rate: {@code [link, from a to b, from b to a, ...]},
 *     without links that are idle both ways
 * @param trees the trees that carry the data, if they are what carries it
 * @param paths directed links from one device to another in turn, where they differ from those of the machine: {@code
 *     [from, to, link, ...]}
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record WayModel(
        int algorithm,
        double rate,
        String exact,
        List<Double> load,
        @Nullable List<TreeModel> trees,
        List<List<Integer>> paths) {
    /**
     * A tree.
     *
     * @param share of all data, as a fraction
     * @param up parent of each rank on the way up, -1 for the root
     * @param down the same on the way down, if it differs
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record TreeModel(
            String share, List<Integer> up, @Nullable List<Integer> down) {}
}
