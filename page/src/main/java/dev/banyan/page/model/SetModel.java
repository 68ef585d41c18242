package dev.banyan.page.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An allreduce between some devices.
 *
 * @param devices ascending; their places are the ranks
 * @param bound GB/s of algbw that no schedule over the counted links can exceed
 * @param exact the same as a fraction
 * @param why the certificate of the bound, as a sentence
 * @param counted which links and abilities of switches the bound counts; null where that is all that the machine has
 * @param beyond greater bounds with all abilities and links, one phrase each; null for none
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
        @Nullable String counted,
        @Nullable List<String> beyond,
        @Nullable List<List<Integer>> parts,
        List<Integer> limit,
        List<WayModel> ways,
        @Nullable SetModel relayed) {}
