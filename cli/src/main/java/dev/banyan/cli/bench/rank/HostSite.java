package dev.banyan.cli.bench.rank;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.reduce.backend.NcclRequest;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.Platform;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.study.machine.ChosenMachine;
import dev.banyan.study.text.Numbers;
import java.lang.foreign.Arena;

/** Virtual devices in host memory; each communicator has a backend of its own. */
public record HostSite(ChosenMachine chosen) implements RankSite {
    @Override
    public String devices() {
        return "measured in host memory (" + host() + ") by threads in place of GPUs";
    }

    @Override
    public String place() {
        return Numbers.count(ranks(), "virtual device") + " in host memory";
    }

    /** Describes what the host backend runs on. */
    public static String host() {
        return Runtime.getRuntime().availableProcessors() + " processors, " + System.getProperty("os.arch") + ", Java "
                + Runtime.version().feature();
    }

    @Override
    public Platform platform() {
        return Platform.ofThisHost();
    }

    @Override
    public Communicator open(SizeRules rules) {
        return Communicator.onHost(
                machine(), Config.builder().set(Planner.ALGORITHM, rules).load());
    }

    @Override
    public String refusal(NcclRequest request) {
        return "NCCL runs on GPUs, and this measures in host memory; leave nccl out, add --backend cuda on a machine"
                + " with GPUs, or take 'banyan predict' for its model";
    }

    @Override
    public RankMemory allocate(Arena arena, long bytes) {
        return RankMemory.ofHost(arena, ranks(), bytes);
    }

    /** Nothing: communicators close their backends. */
    @Override
    public void close() {}
}
