package dev.banyan.study.compare;

import dev.banyan.InputException;
import dev.banyan.export.NcclChains;
import dev.banyan.export.NcclGraph;
import dev.banyan.export.NcclGraphReader;
import dev.banyan.export.RingChannels;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Connection;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Routes;
import dev.banyan.trees.ring.RingSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.numbers.fraction.BigFraction;
import org.jspecify.annotations.Nullable;

/**
 * A graph file of NCCL: its rings, as NCCL would run them, and its chains, which NCCL calls trees.
 *
 * @param file the file's name
 * @param channels the rings over ranks, rated on the machine's links
 * @param chains the chains over ranks, rated in the same way; nothing if the file has none
 * @param remark where the rings leave NVLink, and what Banyan's own rings carry
 */
public record ImportedGraph(String file, RingChannels channels, Optional<NcclChains> chains, String remark) {
    private static final int SHOWN = 3;

    /**
     * Reads and rates a file.
     *
     * @param file the file's name
     * @throws InputException if the text is no such file; the message says where
     * @throws IllegalArgumentException if it is of other devices than those chosen
     */
    public static ImportedGraph of(String file, String text, ChosenMachine chosen) {
        Machine machine = chosen.machine();
        List<Integer> numbers = IntStream.range(0, machine.size())
                .mapToObj(rank -> NcclGraph.number(machine, rank))
                .toList();
        List<List<Integer>> orders = ranks(file, NcclGraphReader.rings(file, text), numbers);
        List<List<Integer>> chains = ranks(file, NcclGraphReader.chains(file, text), numbers);
        RingChannels channels = RingChannels.rated(chosen.allLinks(), orders);
        String better = RingSet.of(chosen.whole(), chosen.devices())
                .filter(best -> best.rateGbs().compareTo(channels.algbw()) > 0)
                .map(best -> "; Banyan's rings carry " + Numbers.gbs(best.rateGbs()) + " instead of "
                        + Numbers.gbs(channels.algbw()))
                .orElse("");
        return new ImportedGraph(
                file,
                channels,
                chains.isEmpty() ? Optional.empty() : Optional.of(NcclChains.rated(chosen.allLinks(), chains)),
                crossings(machine, orders) + better);
    }

    /** Returns the ranks of channels, of which all have the same devices. */
    private static List<List<Integer>> ranks(String file, List<List<Integer>> channels, List<Integer> numbers) {
        channels.stream().limit(1).map(TreeSet::new).forEach(devices -> {
            if (!devices.equals(new TreeSet<>(numbers))) {
                throw new IllegalArgumentException(file + " is for the devices " + devices + ", and "
                        + new TreeSet<>(numbers) + " are compared; name its devices by --devices");
            }
        });
        return channels.stream()
                .map(channel -> channel.stream().map(numbers::indexOf).toList())
                .toList();
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
                + (crossings.size() > SHOWN
                        ? " and so " + (crossings.size() == SHOWN + 1 ? "does" : "do") + " "
                                + Numbers.count(crossings.size() - SHOWN, "other hop")
                        : "");
    }

    /**
     * Returns a row of the rings, and one of the trees if there are any.
     *
     * @param name of the file among all rows
     */
    List<Comparison.Row> rows(String name, BigFraction bound) {
        Comparison.Row rings = row(
                name + " rings",
                channels.algbw(),
                channels.rings().size(),
                bound,
                name + ", from " + file + ", " + Numbers.count(channels.orders().size(), "channel") + remark
                        + "; the time of a given file is not predicted");
        return Stream.concat(
                        Stream.of(rings),
                        chains.stream()
                                .map(trees -> row(
                                        name + " trees",
                                        trees.algbw(),
                                        Set.copyOf(trees.orders()).size(),
                                        bound,
                                        null)))
                .toList();
    }

    private Comparison.Row row(
            String name, BigFraction algbw, int number, BigFraction bound, @Nullable String sentence) {
        int depth = channels.network().ranks() - 1;
        return new Comparison.Row(
                name,
                algbw.doubleValue(),
                Comparison.Row.ratio(algbw, bound),
                null,
                depth,
                number,
                null,
                null,
                null,
                sentence);
    }
}
