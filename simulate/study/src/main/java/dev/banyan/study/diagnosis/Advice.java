package dev.banyan.study.diagnosis;

import dev.banyan.export.NcclChains;
import dev.banyan.export.NcclLimits;
import dev.banyan.export.NcclSearch;
import dev.banyan.export.RingChannels;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.study.measured.ComparedSweep;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Machine;
import dev.banyan.trees.ring.RingSet;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Something that is worth trying.
 *
 * @param change an environment variable with its value, or what to do
 * @param reason why it could help, as part of a sentence
 */
public record Advice(String change, String reason) {
    /**
     * Returns the advice to give NCCL Banyan's rings, unless every ring is as good or none joins the devices. Three
     * devices have one ring, of which NCCL may count too little only where it leaves a CPU.
     */
    static Optional<Advice> export(Machine machine) {
        return RingSet.of(machine, IntStream.range(0, machine.size()).toArray())
                .map(rings -> RingChannels.of(rings, 2))
                .filter(channels ->
                        !channels.anyOrderIsAsGood() && (machine.size() > 3 || NcclSearch.matters(channels.network())))
                .map(_ -> NcclLimits.rcclRunsOn(machine)
                        ? new Advice(
                                "NCCL_RINGS, as banyan export --for rccl writes it",
                                "it gives RCCL the best rings of these links")
                        : new Advice(
                                "NCCL_GRAPH_FILE=graph.xml, as banyan export --for nccl -o graph.xml writes it",
                                "it gives NCCL the best rings of these links in place of those that its search finds"));
    }

    /**
     * Returns the advice to try NCCL's trees, where they cross narrow links less often than rings.
     *
     * @param best the best rings of the machine
     * @param fastestGbs the greatest algbw that was measured, in GB/s
     */
    static Optional<Advice> trees(ComparedSweep measured, RingSet best, double fastestGbs) {
        boolean isChosen = measured.log()
                .filter(log -> log.settings().containsKey("NCCL_ALGO"))
                .isPresent();
        if (measured.setting().transport() != Transport.PEER
                || measured.setting().collective() != Collective.ALL_REDUCE
                || isChosen) {
            return Optional.empty();
        }
        RingChannels rings = RingChannels.of(best, NcclLimits.ANY.channels());
        NcclChains chains = NcclChains.of(measured.setting().machine(), rings);
        if (fastestGbs >= rings.algbw().doubleValue() || !chains.areTakenBefore(rings)) {
            return Optional.empty();
        }
        return Optional.of(new Advice(
                "NCCL_ALGO=Tree",
                "a guess: inside a machine its trees are chains, whose links carry " + Numbers.gbs(chains.algbw())
                        + " of an allreduce where those of rings carry " + Numbers.gbs(rings.algbw())
                        + "; keep it for the sizes that it helps"));
    }

    @Override
    public String toString() {
        return change + ": " + reason;
    }
}
