package dev.banyan.study.export;

import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profiles;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.machine.SwitchRate;
import dev.banyan.study.measured.SimulatedNccl;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Machine;
import dev.banyan.topology.internal.text.LinkNames;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.allreduce.AllReducePacking;

/** Says what plans for MSCCL++ may gain where NCCL would carry the calls. */
public final class MscclppGain {
    private static final String UNKNOWN =
            "nothing here predicts what MSCCL++ takes for short calls, and no such plan has run on a GPU yet";
    /** The error of rates rounded to whole chunks is smaller. */
    private static final double LEAST_GAIN = 1.05;

    private MscclppGain() {}

    /**
     * Returns what to expect, in words.
     *
     * @param gbs rate of the plan by the links, as algbw in GB/s
     */
    public static String sentence(ChosenMachine chosen, Collective collective, double gbs) {
        Network network = chosen.network();
        if (collective.reduces()
                && SwitchRate.ofPacking(network, AllReducePacking.of(network).bound())
                        .isPresent()) {
            return "the switches of this machine add for NCCL, and not for these plans: expect no gain over NCCL for"
                    + " long calls; " + UNKNOWN;
        }
        if (collective != Collective.ALL_REDUCE) {
            return UNKNOWN;
        }
        Machine machine = chosen.machine();
        String library = LinkNames.isOfAmd(machine) ? "RCCL" : "NCCL";
        SimulatedNccl nccl;
        try {
            nccl = new SimulatedNccl(machine, Profiles.of(machine));
        } catch (IllegalArgumentException e) {
            return library + " is not compared: " + e.getMessage() + "; " + UNKNOWN;
        }
        double rings = nccl.linkRateGbs();
        return library
                + nccl.setUp().map(file -> " with an " + file + " carries ").orElse("'s best rings carry ")
                + Numbers.gbs(rings) + " by the links: "
                + (gbs > LEAST_GAIN * rings
                        ? Numbers.format("a long call may gain up to %.1f times over that", gbs / rings)
                        : "expect no gain for long calls")
                + "; " + UNKNOWN;
    }
}
