package dev.banyan.cli.bench;

import dev.banyan.cli.bench.rank.HostSite;
import dev.banyan.cli.bench.report.Reporter;
import dev.banyan.cli.input.MachineOptions;
import dev.banyan.cli.input.RankedGpus;
import dev.banyan.config.Config;
import dev.banyan.cuda.CudaBackendProvider;
import dev.banyan.cuda.internal.driver.CudaDevices;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.internal.processes.JobPlace;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import java.util.List;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * The part of one process in sweeps of several processes: which device is its own, and how it joins the others.
 *
 * @param machine what the user says of the machine
 * @param place which of the processes this is
 */
record ProcessesBench(MachineOptions machine, JobPlace place, RunArguments.Runs runs, Reporter reporter) {
    /** Runs sweeps on devices in host memory. Returns the number of wrong elements. */
    long runOnHost(List<Sweep> sweeps, List<String> warnings) {
        int count = place.processes();
        ChosenMachine chosen = oneForEach(machine.choose(count));
        String how = "measured in host memory by " + count + " processes (" + HostSite.host() + ")";
        reporter.introduce(chosen, how, Platform.ofThisHost(), warnings);
        return run(sweeps, " in host memory", joining -> Communicator.join(chosen.machine(), joining, 1));
    }

    /**
     * Runs sweeps on GPUs, of which this process takes that of its place, or the one that its launcher lets it see.
     * Returns the number of wrong elements.
     */
    long runOnGpus(List<Sweep> sweeps, Config config, List<String> warnings) {
        int count = place.processes();
        String by = "measured by " + count + " processes";
        Platform platform = new Platform("cuda", CudaBackendProvider.execution(config), "", "");
        boolean isShared =
                machine.devices() != null && machine.devices().repeated().isPresent();
        if (!isShared && CudaDevices.busIds().size() == 1) {
            ChosenMachine whole = machine.choose(count);
            reporter.introduce(whole, by + ", each with the GPU that it sees", platform, warnings);
            return run(sweeps, " on GPUs", joining -> Communicator.joinOnGpus(whole.machine(), joining, 0));
        }
        RankedGpus ranked = machine.chooseGpus(count);
        ChosenMachine chosen = oneForEach(ranked.chosen());
        List<Integer> gpus = ranked.gpus().subList(0, count);
        reporter.introduce(chosen, by + " on GPUs " + gpus, platform, warnings);
        int own = gpus.get(place.process());
        return run(sweeps, " on GPUs", joining -> Communicator.joinOnGpus(chosen.machine(), joining, own));
    }

    /** Returns the first devices of a machine, or those that the user named. */
    private ChosenMachine oneForEach(ChosenMachine all) {
        return machine.devices() == null
                ? all.with(IntStream.range(0, place.processes()).toArray())
                : all;
    }

    private long run(List<Sweep> sweeps, String where, Function<Config, Communicator> join) {
        int count = place.processes();
        String title = Numbers.count(count, "process") + where;
        return Sweep.runAll(sweeps, new JoinedBench(title, count, join, runs, reporter)::run, reporter);
    }
}
