package dev.banyan.topology.internal.nvidia;

import dev.banyan.topology.internal.peer.RefusedPairs;
import dev.banyan.topology.internal.speed.GpuSpeeds;
import dev.banyan.topology.internal.speed.SpeedChoice;
import dev.banyan.topology.internal.text.GpuProduct;
import dev.banyan.topology.internal.text.ListedGpus;
import dev.banyan.topology.option.StatedSpeeds.PeerAccess;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;

/**
 * All that a text and the user say about peer access.
 *
 * @param tables of {@code nvidia-smi topo -p2p}
 * @param listed the GPUs that the text lists
 * @param stated by the user
 */
record PeerStatements(List<PeerTable> tables, ListedGpus listed, PeerAccess stated) {
    /**
     * Returns the pairs without access: what a table says, else MIG, else what the user states, else what the driver
     * grants to the model.
     *
     * @param names of the GPUs in the table
     * @param warnings receives one sentence for each oddity
     */
    RefusedPairs refused(List<String> names, TopoTable table, GpuSpeeds speeds, List<String> warnings) {
        int n = names.size();
        RefusedPairs refused = new RefusedPairs(n);
        boolean byModel = false;
        boolean granted = false;
        boolean overruled = false;
        List<String> contradicted = new ArrayList<>();
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < a; b++) {
                String one = names.get(a);
                String other = names.get(b);
                boolean nvlink = table.lanes(one, other) > 0;
                Predicate<PeerTable> states =
                        peers -> peers.knows(one, other) && (peers.isOfAccess() || (peers.isOfPcie() && !nvlink));
                boolean model = refusesByModel(speeds.of(a)) && refusesByModel(speeds.of(b));
                boolean no;
                if (listed.isPartitioned(a) || listed.isPartitioned(b)) {
                    no = true;
                } else if (tables.stream().anyMatch(states)) {
                    no = tables.stream().filter(states).anyMatch(peers -> peers.refuses(one, other));
                    if (tables.stream().anyMatch(states.and(peers -> peers.contradictsItself(one, other)))) {
                        contradicted.add(other + " and " + one);
                    }
                    overruled |= stated == (no ? PeerAccess.YES : PeerAccess.NO);
                } else {
                    no = stated == PeerAccess.NO || (stated == PeerAccess.BY_MODEL && model);
                    byModel |= no && stated == PeerAccess.BY_MODEL;
                    granted |= !no && !nvlink && stated == PeerAccess.BY_MODEL;
                }
                if (no) {
                    refused.add(a, b);
                }
            }
        }
        if (byModel) {
            speeds.whole().assume(RefusedPairs.BY_MODEL);
        }
        if (granted) {
            speeds.whole().assume(RefusedPairs.GRANTED);
        }
        if (!contradicted.isEmpty()) {
            warnings.add("\"topo -p2p\" refuses peer access between " + contradicted.getFirst()
                    + (contradicted.size() == 1 ? "" : " and " + (contradicted.size() - 1) + " other pairs")
                    + " in one row and grants it in the other: counted as refused");
        }
        if (overruled) {
            warnings.add("the stated peer access is ignored for pairs of which the text says otherwise");
        }
        List<String> split = IntStream.range(0, n)
                .filter(listed::isPartitioned)
                .mapToObj(names::get)
                .toList();
        if (!split.isEmpty()) {
            warnings.add(
                    String.join(", ", split) + (split.size() == 1 ? " is" : " are") + " divided into MIG instances,"
                            + " which have neither NVLink nor"
                            + " peer access: copies from and"
                            + " to them go through the host");
        }
        for (PeerTable peers : tables) {
            if (!peers.isOfAccess() && !peers.isOfPcie()) {
                warnings.add("the table of \"topo -p2p " + peers.option() + "\" at line " + (peers.line() + 1)
                        + " does not say whether pairs have peer access: left out; \"topo -p2p r\" says so");
            }
        }
        return refused;
    }

    private static boolean refusesByModel(SpeedChoice speeds) {
        return speeds.product().filter(GpuProduct::refusesPeerAccess).isPresent();
    }
}
