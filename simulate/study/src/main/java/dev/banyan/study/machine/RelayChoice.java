package dev.banyan.study.machine;

import dev.banyan.study.text.Numbers;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.internal.text.LinkNames;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Devices that take no part in a job but make its allreduce faster by forwarding.
 *
 * @param relays by their numbers in the whole machine, ascending: none can be left out without loss
 * @param alone rate of the packing without them
 * @param together rate of the packing with them
 * @param reason what the job lacks without them
 */
public record RelayChoice(List<Integer> relays, BigFraction alone, BigFraction together, String reason) {
    /** Packings with and without each device take too long on greater machines. */
    private static final int MOST_DEVICES = 16;

    public RelayChoice {
        relays = List.copyOf(relays);
    }

    /** The relays that gain the most; empty where none gain anything, and on machines of more than 16 devices. */
    public static Optional<RelayChoice> of(ChosenMachine chosen) {
        int devices = chosen.whole().size();
        int[] idle = IntStream.range(0, devices)
                .filter(device -> !chosen.group().contains(device))
                .toArray();
        if (idle.length == 0 || devices > MOST_DEVICES) {
            return Optional.empty();
        }
        BigFraction alone = rate(chosen);
        BigFraction together = rate(chosen, idle);
        if (together.compareTo(alone) <= 0) {
            return Optional.empty();
        }
        int[] kept = idle;
        for (int device : idle) {
            int[] fewer = Arrays.stream(kept).filter(other -> other != device).toArray();
            if (rate(chosen, fewer).compareTo(together) >= 0) {
                kept = fewer;
            }
        }
        return Optional.of(new RelayChoice(Arrays.stream(kept).boxed().toList(), alone, together, reason(chosen)));
    }

    private static BigFraction rate(ChosenMachine chosen, int... relays) {
        return AllReducePacking.of(chosen.network(relays)).rateGbs();
    }

    private static String reason(ChosenMachine chosen) {
        LinkMatrix links = chosen.links();
        String direct = LinkNames.direct(chosen.machine());
        int n = links.size();
        List<String> lonely = IntStream.range(0, n)
                .filter(a -> IntStream.range(0, n).noneMatch(b -> links.classOf(a, b) >= LinkMatrix.NVLINK))
                .mapToObj(a -> chosen.machine().devices().get(a).name())
                .toList();
        if (!lonely.isEmpty() && lonely.size() < n) {
            return String.join(", ", lonely) + (lonely.size() == 1 ? " has" : " have") + " no " + direct
                    + " to the others";
        }
        return links.nvlinkConnected() ? "idle GPUs can forward" : direct + " does not join these GPUs";
    }

    /**
     * Returns one line for people, with the option to give.
     *
     * @param option what stands before the relays
     */
    public String hint(String option) {
        return reason + ": " + Numbers.gbs(alone) + " without relays; with " + option + " "
                + relays.stream().map(Object::toString).collect(Collectors.joining(",")) + ": "
                + Numbers.gbs(together);
    }
}
