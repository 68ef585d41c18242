package dev.banyan.study.machine;

import com.fasterxml.jackson.annotation.JsonIgnore;
import dev.banyan.schedule.type.Collective;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Link;
import dev.banyan.trees.bound.AllReduceBound;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.bound.GatherBound;
import dev.banyan.trees.bound.RootBound;
import dev.banyan.trees.bound.SwitchReductionBound;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.allreduce.AllReducePacking;
import java.util.ArrayList;
import java.util.List;

/**
 * A limit of a collective, in the order of its JSON.
 *
 * @param counted which links and which abilities of switches it counts, e.g. {@code NVLink, no reduction in switches}
 * @param algbwGBs algbw in GB/s, as nccl-tests define it
 * @param busbwGBs the same times nccl-tests' factor
 * @param bound algbw, exact
 * @param certificate why
 */
public record Limit(String counted, double algbwGBs, double busbwGBs, String bound, CertificateReport certificate) {
    private static final String ALL_LINKS = "all links";

    /** The bound of a collective over exactly the links of a network, switches that only forward. */
    public static Bound bound(Collective collective, Network network, int root) {
        return switch (collective) {
            case ALL_REDUCE ->
                AllReduceBound.applies(network)
                        ? AllReduceBound.of(network)
                        : AllReducePacking.of(network).bound();
            case REDUCE -> RootBound.reduce(network, root);
            case BROADCAST -> RootBound.broadcast(network, root);
            case REDUCE_SCATTER -> GatherBound.reduceScatter(network);
            case ALL_GATHER -> GatherBound.allGather(network);
        };
    }

    /**
     * Returns the links that the bound of {@link #bound} counts; an empty text if these are all links of the machine,
     * so that no schedule can exceed it.
     */
    public static String counted(Network network, Collective collective) {
        boolean reduces = network.switchesReduce() && collective == Collective.ALL_REDUCE;
        return network.leavesOutLinks() || reduces ? counted(network, reduces, false) : "";
    }

    private static String counted(Network network, boolean canReduce, boolean reduces) {
        String links = !network.leavesOutLinks() ? ALL_LINKS : network.has(Link.Kind.XGMI) ? "xGMI" : "NVLink";
        return canReduce ? links + (reduces ? ", with" : ", no") + " reduction in switches" : links;
    }

    /**
     * The greater limits beside the bound of a network: those with reduction in switches where they can, and those over
     * all links where the network leaves some out. The last is what no schedule can exceed.
     *
     * @param network of the chosen machine, with these relays
     * @param root of a collective that has one
     * @param bound that of the network
     */
    public static List<Limit> beyond(
            ChosenMachine chosen, int[] relays, Network network, Collective collective, int root, Bound bound) {
        List<Limit> limits = new ArrayList<>();
        boolean reduces = network.switchesReduce() && collective == Collective.ALL_REDUCE;
        limits.addAll(reduced(network, collective, bound));
        if (network.leavesOutLinks()) {
            Network all = chosen.describedLinks(relays);
            Bound ofAll = bound(collective, all, root);
            limits.add(of(counted(all, reduces, false), ofAll, all, collective));
            limits.addAll(reduced(all, collective, ofAll));
        }
        return List.copyOf(limits);
    }

    /**
     * The limit of a network with reduction in switches; none where no switch can reduce or that helps nothing.
     *
     * @param forwarding the bound with switches that only forward
     */
    public static List<Limit> reduced(Network network, Collective collective, Bound forwarding) {
        return collective != Collective.ALL_REDUCE
                ? List.of()
                : SwitchReductionBound.of(network)
                        .filter(reduced -> reduced.gbs().compareTo(forwarding.gbs()) > 0)
                        .map(reduced -> of(counted(network, true, true), reduced, network, collective))
                        .stream()
                        .toList();
    }

    /** Returns the limit of a network by its bound, switches that only forward. */
    public static Limit of(Network network, Collective collective, Bound bound) {
        return of(counted(network, collective), bound, network, collective);
    }

    private static Limit of(String counted, Bound bound, Network network, Collective collective) {
        double algbw = bound.gbs().doubleValue();
        return new Limit(
                counted,
                algbw,
                algbw * collective.busFactor(network.ranks()),
                Numbers.exact(bound.gbs()),
                CertificateReport.of(bound, network, collective));
    }

    /** Returns whether it counts all links, and not only those of the fastest technology. */
    @JsonIgnore
    public boolean isOverAllLinks() {
        return counted.startsWith(ALL_LINKS);
    }

    /** One line for people, with the reason. */
    public String reason() {
        return "bound (" + counted + "): " + certificate.sentence();
    }

    /** One line for people, without the reason, which {@code banyan bound} has. */
    public String sentence() {
        return "bound (" + counted + "): " + Numbers.gbs(algbwGBs) + " algbw, " + Numbers.gbs(busbwGBs)
                + " busbw (banyan bound has its reason and assumptions)";
    }
}
