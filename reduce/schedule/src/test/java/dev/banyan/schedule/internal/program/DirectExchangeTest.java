package dev.banyan.schedule.internal.program;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.OneShotAlgorithm;
import dev.banyan.schedule.internal.algorithm.PackedAlgorithm;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.Samples;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.LinkMatrix;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import dev.banyan.trees.network.Network;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DirectExchangeTest {
    /** Schedules of every algorithm either have another form, or the exchange gives what they say. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 5, 8, 16})
    void exchangesDoWhatTheirSchedulesSay(int n) {
        Random random = new Random(n);
        int exchanges = 0;
        for (CollectiveAlgorithm algorithm : Samples.algorithms(n, random)) {
            for (Collective collective : Collective.values()) {
                for (int root : Samples.roots(collective, n)) {
                    for (long count : new long[] {0, 1, n + 1, 10_007}) {
                        CollectiveRequest request = new CollectiveRequest(
                                collective, root, count, 1 << random.nextInt(4), random.nextBoolean(), 1 << 12);
                        Optional<DirectExchange> exchange = DirectExchange.of(algorithm.schedule(request));
                        exchange.ifPresent(DirectExchange::verify);
                        exchanges += exchange.isPresent() ? 1 : 0;
                    }
                }
            }
        }
        assertThat(exchanges).isPositive();
    }

    /** Behind a switch each rank is the centre for its share, which is in one piece whatever the chunks. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aPackingBehindASwitchHasAShareForEachRank(boolean inPlace) {
        Machine machine = Presets.find("dgx-h100").orElseThrow();
        Network network = Network.ofAllLinks(machine, IntStream.range(0, 8).toArray());
        Schedule schedule = new PackedAlgorithm(network)
                .schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, 1 << 20, 4, inPlace, 64 << 10));
        DirectExchange exchange = DirectExchange.of(schedule).orElseThrow();
        exchange.verify();
        assertThat(exchange.shares())
                .extracting(DirectExchange.Share::rank)
                .containsExactlyInAnyOrder(0, 1, 2, 3, 4, 5, 6, 7);
        assertThat(exchange.shares()).allSatisfy(share -> {
            assertThat(share.bytes()).isEqualTo(512 << 10);
            assertThat(ranks(share)).hasSize(8);
            assertThat(share.sources().getFirst().rank()).isEqualTo(share.rank());
            assertThat(exchange.loadsFromAll(share)).isTrue();
        });
    }

    private static Set<Integer> ranks(DirectExchange.Share share) {
        return share.targets().stream().map(Location::rank).collect(Collectors.toSet());
    }

    @ParameterizedTest
    @ValueSource(ints = {2, 4, 8})
    void aRankMayOverwriteNoOthersInput(int n) {
        Machine machine = Presets.find("dgx-a100")
                .orElseThrow()
                .subset(IntStream.range(0, n).toArray());
        OneShotAlgorithm oneShot = new OneShotAlgorithm(LinkMatrix.of(machine));
        DirectExchange exchange =
                DirectExchange.of(oneShot.schedule(request(false))).orElseThrow();
        // All ranks combine all, which a switch would do more slowly.
        assertThat(exchange.shares())
                .hasSize(n)
                .noneMatch(exchange::loadsFromAll)
                .allMatch(share -> share.sources().size() == n);
        assertThat(DirectExchange.of(oneShot.schedule(request(true)))).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 8})
    void ringsNeedOtherRanks(int n) {
        CollectiveAlgorithm ring = new RingAlgorithm(IntStream.range(0, n).toArray());
        for (Collective collective : Collective.values()) {
            int root = collective.hasRoot() ? 0 : -1;
            assertThat(DirectExchange.of(
                            ring.schedule(new CollectiveRequest(collective, root, 1000, 4, true, 1 << 20))))
                    .isEmpty();
        }
        assertThat(DirectExchange.of(new RingAlgorithm(IntStream.range(0, n).toArray()).schedule(request(false))))
                .isEmpty();
        assertThat(DirectExchange.of(new StarAlgorithm(n).schedule(request(true))))
                .isPresent();
    }

    private static CollectiveRequest request(boolean inPlace) {
        return new CollectiveRequest(Collective.ALL_REDUCE, -1, 1000, 4, inPlace, 1 << 20);
    }
}
