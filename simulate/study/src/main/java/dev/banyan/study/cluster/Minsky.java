package dev.banyan.study.cluster;

import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * IBM's Power System S822LC for High Performance Computing ("Minsky"), on which the three designs were published: two
 * POWER8 with two P100 each. A P100 has two NVLinks to its neighbour and two to its CPU, 20 GB/s each way each.
 */
public final class Minsky {
    /** Its name where a machine is asked for. */
    public static final String NAME = "minsky";

    private static final int DEVICES = 4;
    private static final int LANES = 2;
    private static final double NVLINKS_GBS = 40;
    private static final double NVLINK_US = 1.8;

    /** Between the sockets: what NCCL takes for POWER9, for want of a measured figure. */
    private static final double SOCKETS_GBS = 32;

    private static final double SOCKETS_US = 2;

    private Minsky() {}

    /** The machine. */
    public static Machine machine() {
        int left = DEVICES;
        int right = DEVICES + 1;
        List<Device> devices = IntStream.range(0, DEVICES)
                .mapToObj(i -> new Device("GPU" + i, null, i / 2, Map.of("model", "Tesla P100-SXM2-16GB", "sm", "60")))
                .toList();
        return new Machine(
                NAME,
                devices,
                List.of(Hub.of("CPU 0", Hub.Kind.CPU_SOCKET), Hub.of("CPU 1", Hub.Kind.CPU_SOCKET)),
                List.of(
                        nvlinks(0, 1),
                        nvlinks(2, 3),
                        nvlinks(0, left),
                        nvlinks(1, left),
                        nvlinks(2, right),
                        nvlinks(3, right),
                        Link.duplex(left, right, Link.Kind.SOCKET, 1, SOCKETS_GBS, SOCKETS_US)),
                List.of(),
                List.of());
    }

    private static Link nvlinks(int a, int b) {
        return Link.duplex(a, b, Link.Kind.NVLINK, LANES, NVLINKS_GBS, NVLINK_US);
    }
}
