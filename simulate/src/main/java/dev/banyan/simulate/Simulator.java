package dev.banyan.simulate;

import dev.banyan.schedule.Schedule;
import dev.banyan.trees.network.Network;
import dev.banyan.trees.packing.LogicalLink;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Predicts how long schedules take on the links of a machine: the same schedules that the backends run,
 * whatever made them.
 *
 * <p>The model:
 *
 * <ul>
 *   <li>A step copies each source that lies on another rank to its target's device, all at once; what it
 *       combines is then combined there by one kernel. It begins when the steps are done that it is {@linkplain
 *       dev.banyan.schedule.Step#after after}, which the verifier proves to be enough.
 *   <li>A copy takes the paths of the pair's {@link LogicalLink}, a share over each, else the {@linkplain
 *       dev.banyan.trees.network.Detours usual way}. While its bytes are sent it occupies every directed arc
 *       of its paths. Copies on an arc at once share it max-min fairly; the two directions of a link have
 *       nothing to do with each other. An arc carries its bandwidth times the efficiency of its kind; where
 *       hubs share out PCIe and socket links, f copies at once get 1 / (1 + q (f - 1)) of that in all.
 *   <li>Copies of a pair without peer access go through the host's memory. What a device sends and receives so at once
 *       gets {@code host.duplex} of what both ways alone would do. A link above a switch that carries copies within
 *       the switch up and down again gets that each way.
 *   <li>Its data arrive a latency after they are sent: that of its hops. The links are free for others by
 *       then (LogGP: A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman, "LogGP: incorporating long messages
 *       into the LogP model", J. Parallel Distrib. Comput. 44 (1997), <a
 *       href="https://doi.org/10.1006/jpdc.1997.1346">doi:10.1006/jpdc.1997.1346</a>).
 *   <li>Copies of one directed pair of ranks are sent one after another, and so are a device's kernels: the first, in
 *       the order of jobs, chunks and steps, of those that nothing holds back. CUDA has no such queue, but a stream for
 *       each tree, way and pair of ranks, or branches of a graph, come close. A launch takes a time from when the
 *       operation could begin; it goes on while the stream still works on the one before, but two of a stream are
 *       never closer than that time.
 *   <li>No more copies leave a device at once, or enter it, than it has copy engines; who has waited in
 *       earlier jobs, chunks and steps goes first.
 *   <li>A kernel takes its latency and then moves its k sources and its target through the device's memory.
 *   <li>The host starts collectives one at a time and, if that takes time, issues the operations on each
 *       device one at a time, in the order of chunks and steps.
 * </ul>
 *
 * <p>The constants are those of the {@link Profile}. Time is counted in whole picoseconds. The same input
 * gives the same result.
 *
 * <p>A run takes O(s log s) time for s steps where every pair of ranks has links of its own; where pairs share
 * links, also the finding of fair rates whenever a copy begins or ends on them. Making a simulator takes O(n
 * (nodes + arcs)). Immutable and safe for use from any thread; a run uses one.
 */
public final class Simulator {
    private final Wiring wiring;
    private final Profile profile;

    /**
     * Creates a simulator of an executor that lets no copy wait behind one that can't begin.
     *
     * @param network the links
     * @param links the paths of pairs that don't go the usual way
     * @param profile the constants
     * @throws IllegalArgumentException if a path takes links that the network doesn't have
     */
    public Simulator(Network network, List<LogicalLink> links, Profile profile) {
        this.profile = Objects.requireNonNull(profile, "profile");
        wiring = new Wiring(network, links, profile);
    }

    /**
     * One collective alone.
     *
     * @throws IllegalArgumentException if its ranks are not the network's, if two ranks that it copies between
     *     have no path, or if it takes longer than 26 days
     */
    public Simulation run(Schedule schedule) {
        return run(List.of(Job.of(schedule)));
    }

    /** Several collectives; else as {@link #run(Schedule)}. */
    public Simulation run(List<Job> jobs) {
        return simulate(jobs, null);
    }

    /**
     * Several collectives, watched; else as {@link #run(Schedule)}.
     *
     * @param listener hears of every transfer and kernel
     */
    public Simulation run(List<Job> jobs, SimulationListener listener) {
        return simulate(jobs, Objects.requireNonNull(listener, "listener"));
    }

    private Simulation simulate(List<Job> jobs, @Nullable SimulationListener listener) {
        for (int job = 0; job < jobs.size(); job++) {
            for (int before : jobs.get(job).after()) {
                if (before < 0 || before >= job) {
                    throw new IllegalArgumentException(
                            "job " + job + " is after job " + before + ", which does not come before it");
                }
            }
        }
        return new Engine(jobs, wiring, Workload.of(jobs, wiring), profile, listener).run();
    }
}
