package dev.banyan.simulate;

import dev.banyan.schedule.Location;
import dev.banyan.schedule.internal.program.DirectExchange;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.simulate.internal.rate.Clock;
import dev.banyan.topology.Link;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Predicts how long {@linkplain DirectExchange exchanges} take, where links are NVLink and the profile has {@code
 * exchange.linkFraction}. The model, whose other constants are those of device programs:
 *
 * <ul>
 *   <li>The kernels begin as those of programs. Each of the two barriers takes {@code program.flagUs} and {@code
 *       program.sliceUs}; the first data comes {@code program.flagUs} after the first barrier, as loads go there and
 *       back.
 *   <li>All data moves at once in between: over each link at {@code exchange.linkFraction} of the rate of copies, over
 *       the memory of each device, and through the blocks of each rank at {@code program.blockGbs}. The slowest of these
 *       counts.
 *   <li>The call ends {@code program.endUs} later.
 * </ul>
 */
final class ExchangeModel {
    private static final long BYTES_OF_A_BLOCK = 8 << 10;

    private final Wiring wiring;
    private final Profile profile;
    private final double launchUs;

    ExchangeModel(Wiring wiring, Profile profile, double launchUs) {
        this.wiring = wiring;
        this.profile = profile;
        this.launchUs = launchUs;
    }

    /** Returns whether all links are NVLink, of which the profile says what exchanges reach. */
    boolean applies() {
        return profile.get(Constant.EXCHANGE_LINK_FRACTION) > 0
                && IntStream.range(0, wiring.ranks)
                        .allMatch(from -> IntStream.range(0, wiring.ranks)
                                .allMatch(to -> from == to || isOverNvlink(from * wiring.ranks + to)));
    }

    private boolean isOverNvlink(int pair) {
        return wiring.hasPath(pair) && arcs(pair).allMatch(arc -> wiring.network.kind(arc) == Link.Kind.NVLINK);
    }

    private IntStream arcs(int pair) {
        return IntStream.range(wiring.pathStart[wiring.flowStart[pair]], wiring.pathStart[wiring.flowStart[pair + 1]])
                .map(entry -> wiring.path[entry]);
    }

    /** Returns the time of an exchange in us. */
    double us(DirectExchange exchange) {
        double[] load = new double[wiring.network.arcs() + wiring.ranks];
        double[] moved = new double[wiring.ranks];
        double[] share = new double[wiring.ranks];
        for (DirectExchange.Share each : exchange.shares()) {
            for (Location source : each.sources()) {
                add(load, source.rank(), each.rank(), each.bytes());
            }
            for (Location target : each.targets()) {
                add(load, each.rank(), target.rank(), each.bytes());
            }
            share[each.rank()] += each.bytes();
            moved[each.rank()] += (double) each.bytes()
                    * (each.sources().size() + each.targets().size());
        }
        double ticks = 0;
        for (int resource = 0; resource < load.length; resource++) {
            double fraction = resource < wiring.network.arcs() ? profile.get(Constant.EXCHANGE_LINK_FRACTION) : 1;
            ticks = Math.max(ticks, load[resource] / (wiring.capacity[resource] * fraction));
        }
        long blocks = (long) Math.clamp(
                Math.ceil(Arrays.stream(share).max().orElse(0) / BYTES_OF_A_BLOCK), 1, ProgramSizes.DEFAULT.blocks());
        double blocksUs =
                Arrays.stream(moved).max().orElse(0) / (blocks * profile.get(Constant.PROGRAM_BLOCK_GBS) * 1e3);
        double barrierUs = profile.get(Constant.PROGRAM_FLAG_US) + profile.get(Constant.PROGRAM_SLICE_US);
        return launchUs
                + 2 * barrierUs
                + profile.get(Constant.PROGRAM_FLAG_US)
                + Math.max(ticks / Clock.TICKS_PER_US, blocksUs)
                + profile.get(Constant.PROGRAM_END_US);
    }

    private void add(double[] load, int from, int to, long bytes) {
        load[wiring.network.arcs() + (from == to ? from : to)] += bytes;
        if (from != to) {
            load[wiring.network.arcs() + from] += bytes;
            int pair = from * wiring.ranks + to;
            for (int flow = wiring.flowStart[pair]; flow < wiring.flowStart[pair + 1]; flow++) {
                for (int entry = wiring.pathStart[flow]; entry < wiring.pathStart[flow + 1]; entry++) {
                    load[wiring.path[entry]] += bytes * wiring.share[flow];
                }
            }
        }
    }
}
