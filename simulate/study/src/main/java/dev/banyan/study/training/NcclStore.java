package dev.banyan.study.training;

import dev.banyan.schedule.type.Collective;
import dev.banyan.simulate.Profile;
import dev.banyan.simulate.internal.nccl.NcclRings;
import dev.banyan.simulate.internal.nccl.Transport;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * MXNet's {@code nccl} store: a push is NCCL's reduce, a pull its broadcast. One thread launches each on all
 * devices, and the store waits for each: the calls of a communicator go one after another, the key of the highest
 * priority first that is ready.
 */
final class NcclStore implements KeyStore {
    private final NcclRings rings;
    private final int devices;
    private final double pushPullUs;
    private final double waitUs;
    private final Map<Call, Double> times = new ConcurrentHashMap<>();

    private record Call(Collective collective, long bytes) {}

    /**
     * @param pushPullUs what the caller's thread needs for a push and a pull before they can begin, in us
     * @param waitUs what it takes to see that a call is done, in us
     */
    NcclStore(Machine machine, Profile profile, double pushPullUs, double waitUs) {
        rings = NcclRings.of(machine, profile, Transport.PEER);
        devices = machine.size();
        this.pushPullUs = pushPullUs;
        this.waitUs = waitUs;
    }

    @Override
    public String name() {
        return "NCCL ring";
    }

    @Override
    public double[] doneUs(List<Gradient> gradients) {
        int keys = gradients.size();
        double[] ready = new double[keys];
        for (int key = 0; key < keys; key++) {
            ready[key] = Math.max(gradients.get(key).readyUs(), (key + 1) * pushPullUs);
        }
        boolean[] pushed = new boolean[keys];
        double[] done = new double[keys];
        double now = 0;
        for (int call = 0; call < 2 * keys; call++) {
            int key = next(ready, now);
            now = Math.max(now, ready[key])
                    + us(pushed[key] ? Collective.BROADCAST : Collective.REDUCE, gradients.get(key));
            done[key] = now;
            ready[key] = pushed[key] ? Double.POSITIVE_INFINITY : now;
            pushed[key] = true;
        }
        return done;
    }

    /** The first key that is ready by now; where there is none, the one that is ready first. */
    private static int next(double[] ready, double now) {
        int earliest = 0;
        for (int key = 0; key < ready.length; key++) {
            if (ready[key] <= now) {
                return key;
            }
            if (ready[key] < ready[earliest]) {
                earliest = key;
            }
        }
        return earliest;
    }

    private double us(Collective collective, Gradient gradient) {
        return times.computeIfAbsent(
                new Call(collective, gradient.bytes()),
                call -> waitUs
                        + rings.time(call.collective(), call.bytes(), devices).us());
    }
}
