package dev.banyan.study.compare;

import dev.banyan.export.NcclGraph;
import dev.banyan.export.RingChannels;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import dev.banyan.trees.ring.RingSet;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.apache.commons.numbers.fraction.BigFraction;

/**
 * Rings out of a graph file of NCCL, as NCCL would run them.
 *
 * @param file the file's name
 * @param channels the rings over ranks, rated on the machine's links
 * @param remark where they leave NVLink, and what Banyan's own rings carry
 */
public record ImportedRings(String file, RingChannels channels, String remark) {
    private static final int SHOWN = 3;

    /**
     * Rates rings.
     *
     * @param file the file's name
     * @param rings device numbers in the order of each channel's ring; all have the same devices
     * @throws IllegalArgumentException if they are other devices than those chosen
     */
    public static ImportedRings of(String file, List<List<Integer>> rings, ChosenMachine chosen) {
        Machine machine = chosen.machine();
        List<Integer> numbers = IntStream.range(0, machine.size())
                .mapToObj(rank -> NcclGraph.number(machine, rank))
                .toList();
        if (!new TreeSet<>(numbers).equals(new TreeSet<>(rings.getFirst()))) {
            throw new IllegalArgumentException(file + " is for the devices " + new TreeSet<>(rings.getFirst())
                    + ", and " + new TreeSet<>(numbers) + " are compared; name its devices by --devices");
        }
        List<List<Integer>> orders = rings.stream()
                .map(ring -> ring.stream().map(numbers::indexOf).toList())
                .toList();
        RingChannels channels = RingChannels.rated(chosen.allLinks(), orders);
        String better = RingSet.of(chosen.whole(), chosen.devices())
                .filter(best -> best.rateGbs().compareTo(channels.algbw()) > 0)
                .map(best -> "; Banyan's rings carry " + Numbers.gbs(best.rateGbs()) + " instead of "
                        + Numbers.gbs(channels.algbw()))
                .orElse("");
        return new ImportedRings(file, channels, crossings(machine, orders) + better);
    }

    /** Names hops that are not over NVLink, where other hops are. */
    private static String crossings(Machine machine, List<List<Integer>> orders) {
        Routes routes = Routes.of(machine);
        List<String> crossings = new ArrayList<>();
        boolean nvlink = false;
        for (int channel = 0; channel < orders.size(); channel++) {
            List<Integer> ring = orders.get(channel);
            for (int i = 0; i < ring.size(); i++) {
                int a = ring.get(i);
                int b = ring.get((i + 1) % ring.size());
                boolean fast = routes.between(a, b).kind() == Connection.Kind.NVLINK;
                nvlink |= fast;
                if (!fast) {
                    crossings.add("channel " + channel + " crosses "
                            + machine.devices().get(a).name() + "-"
                            + machine.devices().get(b).name() + " by PCIe");
                }
            }
        }
        if (!nvlink || crossings.isEmpty()) {
            return "";
        }
        return ": " + String.join(", ", crossings.subList(0, Math.min(SHOWN, crossings.size())))
                + (crossings.size() > SHOWN ? " and " + (crossings.size() - SHOWN) + " more hops do" : "");
    }

    Comparison.Row row(String name, BigFraction bound) {
        return new Comparison.Row(
                name,
                channels.algbw().doubleValue(),
                Comparison.Row.ratio(channels.algbw(), bound),
                null,
                channels.network().ranks() - 1,
                channels.rings().size(),
                null,
                null,
                null,
                name + ", from " + file + ", " + Numbers.count(channels.orders().size(), "channel") + remark
                        + "; the trees of such a file are not rated");
    }
}
