package dev.banyan.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cli.bench.call.Call;
import dev.banyan.cli.bench.call.ElementType;
import dev.banyan.cli.bench.call.Repeats;
import dev.banyan.cli.bench.rank.HostSite;
import dev.banyan.cli.bench.rank.RankMemory;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.topology.Machine;
import java.io.PrintWriter;
import java.io.Writer;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class WarmUpOrderTest {
    /** A site in host memory that keeps what it prepares. */
    private record Recording(RankSite site, List<String> opened) implements RankSite {
        @Override
        public Machine machine() {
            return site.machine();
        }

        @Override
        public String devices() {
            return site.devices();
        }

        @Override
        public String place() {
            return site.place();
        }

        @Override
        public Platform platform() {
            return site.platform();
        }

        @Override
        public Communicator open(SizeRules rules) {
            opened.add(rules.toString());
            return site.open(rules);
        }

        @Override
        public @Nullable String refusal(NcclRequest request) {
            return site.refusal(request);
        }

        @Override
        public RankMemory allocate(Arena arena, long bytes) {
            return site.allocate(arena, bytes);
        }

        @Override
        public void close() {
            site.close();
        }
    }

    /** The JVM compiles what the algorithms share before the first one is measured. */
    @Test
    void allAlgorithmsAreWarmBeforeTheFirstIsMeasured() {
        HostSite host = new HostSite(Machine.preset("p3.8xlarge").subset(0, 1));
        Recording site = new Recording(host, new ArrayList<>());
        PrintWriter nowhere = new PrintWriter(Writer.nullWriter());
        Sweep sweep = new Sweep(
                new Call(Collective.ALL_REDUCE, ElementType.FLOAT, ReduceOp.SUM, -1, 2),
                List.of(16L),
                List.of(AlgorithmConfig.of(AlgorithmChoice.STAR), AlgorithmConfig.of(AlgorithmChoice.RING)));
        new SweepBench(
                        site,
                        new RunArguments.Runs(Repeats.exactly(1, 1), true),
                        new Reporter(nowhere, nowhere, false, null, (context, rows) -> {}))
                .run(sweep);
        assertThat(site.opened()).containsExactly("star", "ring", "star", "ring");
    }
}
