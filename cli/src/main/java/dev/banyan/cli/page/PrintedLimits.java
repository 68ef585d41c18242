package dev.banyan.cli.page;

import dev.banyan.cli.compare.Limit;
import dev.banyan.cli.input.ChosenMachine;
import dev.banyan.cli.output.CertificateReport;
import dev.banyan.cli.output.Numbers;
import dev.banyan.page.study.BoundWords;
import dev.banyan.schedule.type.Collective;
import dev.banyan.trees.bound.Bound;
import dev.banyan.trees.network.Network;
import java.util.List;

/** Writes bounds as {@code banyan bound} does. */
record PrintedLimits(ChosenMachine chosen) implements BoundWords {
    @Override
    public String certificate(Bound bound, Network network) {
        return CertificateReport.of(bound, network, Collective.ALL_REDUCE).sentence();
    }

    @Override
    public String counted(Network network) {
        return Limit.counted(network, Collective.ALL_REDUCE);
    }

    /**
     * Returns further limits. For fewer devices than all, only those of the same links count: the others would take
     * long for hundreds of sets.
     */
    @Override
    public List<String> beyond(Network network, Bound bound) {
        boolean hasAll = network.ranks() == chosen.machine().size();
        List<Limit> limits = hasAll
                ? Limit.beyond(chosen, new int[0], network, Collective.ALL_REDUCE, -1, bound)
                : Limit.reduced(network, Collective.ALL_REDUCE, bound);
        return limits.stream()
                .map(limit -> limit.counted() + ": " + Numbers.gbs(limit.algbwGBs()))
                .toList();
    }
}
