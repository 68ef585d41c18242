package dev.banyan.page.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An allreduce between some devices.
 *
 * @param devices ascending; their places are the ranks
 * @param bound GB/s of algbw that no schedule over the links can exceed
 * @param exact the same as a fraction
 * @param why the certificate of the bound, as a sentence
 * @param parts devices of each part, if the certificate is a partition
 * @param limit directed links that the certificate counts
 * @param ways how the algorithms carry it
 * @param relayed the same with all other devices as relays, if these raise the rate of the packed trees
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record SetModel(
        List<Integer> devices,
        double bound,
        String exact,
        String why,
        @Nullable List<List<Integer>> parts,
        List<Integer> limit,
        List<WayModel> ways,
        @Nullable SetModel relayed) {}
