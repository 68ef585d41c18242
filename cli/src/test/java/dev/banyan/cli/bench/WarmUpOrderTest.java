package dev.banyan.cli.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.cli.bench.call.Call;
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
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.topology.Machine;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class WarmUpOrderTest {
    private final StringWriter printed = new StringWriter();
    private final List<String> opened = new ArrayList<>();
    private final RankSite site = new Recording(
            new HostSite(ChosenMachine.whole(Machine.preset("p3.8xlarge").subset(0, 1), null)), opened);

    /** A site in host memory that keeps what it prepares, and runs stars in place of NCCL. */
    private record Recording(RankSite site, List<String> opened) implements RankSite {
        @Override
        public ChosenMachine chosen() {
            return site.chosen();
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
            return rules.toString().equals("nccl")
                    ? site.open(AlgorithmConfig.of(AlgorithmChoice.STAR))
                    : site.open(rules);
        }

        @Override
        public @Nullable String refusal(NcclRequest request) {
            return null;
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
        run("star", "ring");
        assertThat(opened).containsExactly("star", "ring", "star", "ring");
    }

    @Test
    void allAreWarmBeforeTheTurnsWithNccl() {
        run("multi-tree/exact", "nccl");
        assertThat(opened).containsExactly("multi-tree/exact", "nccl", "nccl", "multi-tree/exact");
        assertThat(printed.toString())
                .contains("# algorithm: multi-tree (exact)\n")
                .containsPattern("\n +64 +multi-tree ");
    }

    private void run(String... algorithms) {
        PrintWriter out = new PrintWriter(printed);
        Sweep sweep = new Sweep(
                new Call(Collective.ALL_REDUCE, DataType.F32, ReduceOp.SUM, -1, 2),
                List.of(16L),
                Stream.of(algorithms).map(AlgorithmConfig::parse).toList());
        Reporter reporter = new Reporter(out, out, false, null, (context, rows) -> {});
        assertThat(new MeasuredBench(site, new RunArguments.Runs(Repeats.exactly(1, 1), true), reporter).run(sweep))
                .isZero();
        reporter.finish();
        out.flush();
    }
}
