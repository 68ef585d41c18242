package dev.banyan.page.model;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All that a page shows, in the order of its JSON. The JSON is compact: it has no field for what is null.
 *
 * @param version of Banyan
 * @param machine the nodes and links
 * @param options of the command that name the whole machine, as a shell takes them
 * @param devices the number of each device in the whole machine; empty where it is shown whole
 * @param algorithms names; others refer to them by index
 * @param chosen the algorithm that the automatic choice takes for the largest calls, or 0 if it takes none of them
 * @param sets sets of devices, what limits them and how fast they are
 * @param inSwitch the whole set with sums in switches; null where these cannot add
 * @param anyRing whether all rings are equally good, so that NCCL needs none from a file
 * @param peerAccess whether some pair has it
 * @param predictedBy the profile and the execution that the simulator went by, in words
 * @param exchanging algorithms whose predicted calls are of buffers of Communicator.allocateAll, and whose steps copy
 * @param curves time of a call over its size
 * @param playbacks calls, transfer by transfer
 * @param steps the gradients of models
 * @param notes one sentence each
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record PageModel(
        String version,
        MachineModel machine,
        String options,
        List<Integer> devices,
        List<String> algorithms,
        int chosen,
        SetsModel sets,
        @Nullable SwitchModel inSwitch,
        boolean anyRing,
        boolean peerAccess,
        String predictedBy,
        List<String> exchanging,
        List<Curve> curves,
        List<Playback> playbacks,
        List<StepModel> steps,
        List<String> notes) {
    /**
     * An allreduce with sums in switches.
     *
     * @param bound GB/s of algbw that no schedule can exceed
     * @param counted which links and abilities the bound counts
     * @param why why no schedule can exceed it
     * @param rate GB/s of algbw that kernels carry by packing; null where they have no switch add
     * @param star the same of a star around the first GPU
     * @param above greatest size in bytes of calls that do without
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    public record SwitchModel(
            double bound,
            String counted,
            String why,
            @Nullable Double rate,
            @Nullable Double star,
            long above) {}
}
