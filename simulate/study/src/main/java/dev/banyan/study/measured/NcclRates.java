package dev.banyan.study.measured;

import dev.banyan.export.NcclChains;
import dev.banyan.export.NcclSearch;
import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Constant;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.internal.nccl.RingTraffic;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Machine;
import dev.banyan.trees.network.Network;
import java.util.List;

/** The algbw that large allreduces of NCCL reach peer to peer over given rings or chains, as its model counts. */
public final class NcclRates {
    private final Network network;
    private final Profile profile;

    /** @param machine all of its devices take part */
    public NcclRates(Machine machine, Profile profile) {
        network = Network.of(machine);
        this.profile = profile;
    }

    /**
     * Returns the rate over rings in equal shares, in GB/s.
     *
     * @param orders all ranks in the order of each ring, which data go around one way
     */
    public double ofRings(List<List<Integer>> orders) {
        return reached(RingTraffic.ofRings(network, orders));
    }

    /**
     * Returns the rate over chains in equal shares, which NCCL calls trees, in GB/s.
     *
     * @param orders all ranks of each chain
     */
    public double ofChains(List<List<Integer>> orders) {
        return NcclChains.EXPECTED * reached(RingTraffic.ofChains(network, orders));
    }

    /** Returns the greatest rate over rings that a search finds, in GB/s. */
    public double most(List<NcclSearch> searches) {
        return searches.stream()
                .mapToDouble(search -> ofRings(search.rings().orders()))
                .max()
                .orElseThrow();
    }

    /** Returns the least rate of a single channel that a search finds, in GB/s; no more than {@link #most}. */
    public double least(List<NcclSearch> searches) {
        double factor = Collective.ALL_REDUCE.busFactor(network.ranks());
        return searches.stream()
                .mapToDouble(search -> Math.min(
                        search.leastOfAChannelGbs() / factor,
                        ofRings(search.rings().orders().subList(0, 1))))
                .reduce(most(searches), Math::min);
    }

    /** Returns the greatest rate that links alone carry over rings that a search finds, in GB/s. */
    public static double linksGbs(List<NcclSearch> searches) {
        return searches.stream()
                .mapToDouble(search -> search.rings().algbw().doubleValue())
                .max()
                .orElseThrow();
    }

    /** Returns the least and the greatest rate, in words. */
    public String range(List<NcclSearch> searches) {
        String least = Numbers.format("%.2f", least(searches));
        String most = Numbers.format("%.2f", most(searches));
        return (least.equals(most) ? "" : least + " to ") + most + " GB/s";
    }

    private double reached(RingTraffic traffic) {
        return profile.get(Constant.NCCL_SIMPLE_FRACTION) * 1e-3 / traffic.usPerByte(profile);
    }
}
