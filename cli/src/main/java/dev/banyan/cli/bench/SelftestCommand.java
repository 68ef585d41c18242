package dev.banyan.cli.bench;

import dev.banyan.cli.bench.call.AlgorithmList;
import dev.banyan.cli.bench.call.DeviceCalls;
import dev.banyan.cli.bench.rank.BackendOption;
import dev.banyan.cli.bench.rank.CudaSite;
import dev.banyan.cli.bench.rank.FreeMemory;
import dev.banyan.cli.bench.rank.HostSite;
import dev.banyan.cli.bench.rank.RankBackend;
import dev.banyan.cli.bench.rank.RankSite;
import dev.banyan.cli.bench.report.Row;
import dev.banyan.cli.input.DeviceList;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.RankedGpus;
import dev.banyan.cli.output.ReportCommand;
import dev.banyan.cli.output.RunContext;
import dev.banyan.config.Config;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.reduce.internal.processes.JobPlace;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.AlgorithmConfig;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.type.Collective;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code banyan selftest}: whether every kind of collective is right on a backend. */
@Command(
        name = "selftest",
        description =
                "Run every collective, type, operation and algorithm at awkward sizes, in and out of place, and check"
                    + " every element against a 64-bit reference. Without --machine a preset's links stand for the"
                    + " machine's, GPUs are counted as CUDA counts them, and each is taken once where --devices is not"
                    + " given (of the host 8 virtual ones). With --machine, pairs that must not use peer access go"
                    + " through the host.",
        footer = {
            "",
            "Examples:",
            "  banyan selftest",
            "  banyan selftest --devices 0,0,0,0",
            "  banyan selftest --devices 0,0 --large --algorithm ring",
            "  banyan selftest --machine machine.json",
            "  banyan selftest --reproducible",
            "  banyan selftest --backend host --devices 0,1,2"
        })
public final class SelftestCommand extends ReportCommand {
    private static final int MOST_RANKS = 16;
    private static final int SHOWN_FAILURES = 20;

    @Mixin
    private final BackendOption backend = new BackendOption();

    @Mixin
    private final MachineOptions machine = new MachineOptions();

    @Option(
            names = {"-a", "--algorithm"},
            paramLabel = "LIST",
            description =
                    "Algorithms to test, as in bench -a, with commas between (default: all; on GPUs also nccl, if NCCL"
                            + " is there).")
    private @Nullable AlgorithmList algorithms;

    @Option(
            names = "--large",
            description =
                    "Test arrays above 4 GiB instead: every collective in place, a buffer of each rank on its GPU, and"
                            + " one in the host's memory.")
    private boolean large;

    @Option(
            names = "--short",
            description = "Test sums and means of float and half at three sizes only: seconds instead of minutes.")
    private boolean brief;

    @Option(
            names = "--reproducible",
            description =
                    "Print the hash of reproducible sums of 8 ranks instead, which is the same on every machine: in"
                            + " host memory, also of 2 and 4 processes, and on the GPUs.")
    private boolean reproducible;

    /**
     * The cases of one algorithm, as JSON has them.
     *
     * @param failures what is wrong, a sentence for each failed case
     */
    private record Row(String algorithm, long passed, int failed, List<String> failures) {}

    @Override
    public void run() {
        require(
                Stream.of(large, brief, reproducible).filter(each -> each).count() <= 1,
                "--short, --large and --reproducible exclude each other");
        Config config = Config.load();
        if (reproducible) {
            hash(config);
            return;
        }
        switch (backend.choose(machine)) {
            case HOST -> {
                ChosenMachine chosen = machine.isNamed() ? introduced(machine.choose(1)) : standIn(named(8).length);
                HostSite site = new HostSite(chosen);
                checkNumber(site.ranks());
                run(site, "tested in host memory: " + Numbers.count(site.ranks(), "virtual device"));
            }
            case CUDA -> {
                RankedGpus ranked = gpus();
                checkNumber(ranked.gpus().size());
                try (CudaSite site = new CudaSite(ranked, config)) {
                    run(site, "tested on GPUs: ranks on " + ranked.gpus());
                }
            }
        }
    }

    private RankedGpus gpus() {
        if (machine.isNamed()) {
            RankedGpus ranked = machine.chooseGpus(1);
            introduced(ranked.chosen());
            return ranked;
        }
        int[] gpus = named(Math.min(CudaDevices.count(), MOST_RANKS));
        return new RankedGpus(standIn(gpus.length), IntStream.of(gpus).boxed().toList());
    }

    private void hash(Config config) {
        AlgorithmList chosen = Objects.requireNonNullElse(algorithms, AlgorithmList.ALL);
        require(!chosen.has(AlgorithmChoice.NCCL), "nccl promises no reproducible sums; name another algorithm");
        SumHashes hashes = new SumHashes(chosen.algorithms(), line -> lines(List.of(line)));
        if (JobPlace.isGiven(config, System.getenv())) {
            require(
                    algorithms == null
                            && !forPrograms()
                            && !backend.isGiven()
                            && !machine.isNamed()
                            && machine.devices() == null,
                    "With BANYAN_RANK set, selftest --reproducible prints only a hash by auto; leave out --algorithm,"
                            + " --backend, --devices, -g, --machine and --format, or unset BANYAN_RANK");
            out().println(hashes.join(JobPlace.find(config, System.getenv()).processes()));
            return;
        }
        boolean onGpus = backend.choose(machine) == RankBackend.CUDA;
        require(!machine.isNamed(), "--reproducible has the same ranks on every machine; leave --machine out");
        require(
                onGpus || machine.devices() == null,
                "--devices and -g of --reproducible name GPUs, but the sums run in host memory; leave them out");
        hashes.onHost();
        hashes.inProcesses(2);
        hashes.inProcesses(4);
        if (onGpus) {
            hashes.onGpus(named(Math.min(CudaDevices.count(), SumDigest.RANKS)));
        }
        print(
                RunContext.of(SumHashes.MACHINE, Platform.ofThisHost(), null),
                hashes.rows(),
                () -> lines(List.of("# hash: " + hashes.common())));
        hashes.common();
    }

    private ChosenMachine introduced(ChosenMachine chosen) {
        remark(forPrograms() ? null : chosen.remark(), chosen.warnings());
        return chosen;
    }

    /** The devices that the user names, or as many as are given. */
    private int[] named(int all) {
        DeviceList devices = machine.devices();
        return devices == null ? IntStream.range(0, all).toArray() : devices.indices();
    }

    /** The right results do not depend on the machine; the links of this one make trees of every kind. */
    private ChosenMachine standIn(int ranks) {
        checkNumber(ranks);
        Machine preset = Machine.preset(ranks > 8 ? "dgx-2" : "p3.16xlarge");
        return ChosenMachine.whole(preset.subset(IntStream.range(0, ranks).toArray()), null);
    }

    private void checkNumber(int ranks) {
        require(ranks <= MOST_RANKS, Numbers.count(ranks, "device") + "; the test takes 1 to " + MOST_RANKS + " ranks");
    }

    private void run(RankSite site, String devices) {
        lines(List.of("# " + devices));
        long inputs = large ? 0 : brief ? Selftest.shortBytes(site.ranks()) : Selftest.bytes(site.ranks());
        long buffers = large ? Selftest.largeBytes(site.ranks()) : inputs;
        FreeMemory.require((inputs + buffers) * site.ranks(), "test fewer ranks with --devices");
        try (Arena arena = Arena.ofShared()) {
            DeviceCalls calls = new DeviceCalls(site.allocate(arena, inputs), site.allocate(arena, buffers), 0);
            test(site, calls, large ? Selftest::runLarge : brief ? Selftest::runShort : Selftest::run);
        }
    }

    /** The algorithms that were named; else all, and NCCL where it can run a sum. */
    private List<AlgorithmConfig> algorithms(RankSite site) {
        String refusal = site.refusal(new NcclRequest(Collective.ALL_REDUCE, -1, 1, DataType.F32, ReduceOp.SUM, true));
        if (algorithms != null) {
            require(!algorithms.has(AlgorithmChoice.NCCL) || refusal == null, "nccl: " + refusal);
            return algorithms.algorithms();
        }
        List<AlgorithmConfig> all = new ArrayList<>(AlgorithmList.ALL.algorithms());
        if (refusal == null) {
            all.add(AlgorithmConfig.of(AlgorithmChoice.NCCL));
        } else if (site instanceof CudaSite) {
            lines(List.of("# nccl is not tested: " + refusal));
        }
        return all;
    }

    private void test(RankSite site, DeviceCalls calls, Consumer<Selftest> cases) {
        List<Row> rows = new ArrayList<>();
        for (AlgorithmConfig algorithm : algorithms(site)) {
            try (Communicator communicator = site.open(algorithm)) {
                Selftest test = new Selftest(
                        communicator,
                        algorithm,
                        calls,
                        call -> algorithm.algorithm() != AlgorithmChoice.NCCL
                                || site.refusal(call.ncclRequest(1, true)) == null);
                cases.accept(test);
                Row row = new Row(
                        algorithm.toString(), test.passed(), test.failures().size(), test.failures());
                rows.add(row);
                lines(lines(row));
            }
        }
        long passed = rows.stream().mapToLong(Row::passed).sum();
        long failed = rows.stream().mapToLong(Row::failed).sum();
        print(
                RunContext.of(site.machine(), site.platform(), null),
                rows,
                () -> lines(List.of("# " + passed + " passed, " + failed + " failed")));
        if (failed > 0) {
            throw new IllegalStateException(
                    failed + (failed == 1 ? " case is" : " cases are") + " not what the 64-bit reference says");
        }
    }

    private static List<String> lines(Row row) {
        List<String> lines = new ArrayList<>();
        lines.add(row.algorithm() + ": " + row.passed() + " passed, " + row.failed() + " failed");
        row.failures().stream().limit(SHOWN_FAILURES).forEach(failure -> lines.add("  " + failure));
        if (row.failed() > SHOWN_FAILURES) {
            lines.add("  and " + (row.failed() - SHOWN_FAILURES) + " more");
        }
        return lines;
    }

    /** Prints lines for people, as soon as they are known. */
    private void lines(List<String> lines) {
        if (!forPrograms()) {
            lines.forEach(out()::println);
            out().flush();
        }
    }
}
