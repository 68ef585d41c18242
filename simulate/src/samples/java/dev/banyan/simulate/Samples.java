package dev.banyan.simulate;

import dev.banyan.schedule.Chunk;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Schedule;
import dev.banyan.schedule.Space;
import dev.banyan.schedule.Step;
import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.ForestAlgorithm;
import dev.banyan.schedule.internal.algorithm.RingAlgorithm;
import dev.banyan.schedule.internal.algorithm.StarAlgorithm;
import dev.banyan.schedule.type.Collective;
import dev.banyan.topology.Device;
import dev.banyan.topology.Hub;
import dev.banyan.topology.Link;
import dev.banyan.topology.Machine;
import dev.banyan.trees.Forest;
import dev.banyan.trees.Tree;
import dev.banyan.trees.network.Network;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;

/** Machines, profiles and schedules to test with. */
public final class Samples {
    /** Nothing is lost, nothing takes time but the links. */
    public static final Profile IDEAL = ideal();

    private static final List<Collective> COLLECTIVES = List.of(Collective.values());

    private Samples() {}

    private static Profile ideal() {
        Map<Constant, Profile.Value> values = new EnumMap<>(Constant.class);
        for (Constant constant : Constant.values()) {
            double value = switch (constant) {
                case NVLINK_EFFICIENCY, XGMI_EFFICIENCY, PCIE_EFFICIENCY, SOCKET_EFFICIENCY -> 1;
                case NCCL_LL_FRACTION, NCCL_LL128_FRACTION, NCCL_SIMPLE_FRACTION, HOST_DUPLEX, PROGRAM_STORE_FRACTION ->
                    1;
                case REDUCE_GBS, COPY_ENGINES, PROGRAM_BLOCK_GBS -> 1e6;
                default -> 0;
            };
            values.put(constant, new Profile.Value(value, "ideal"));
        }
        return new Profile("ideal", values);
    }

    public static Profile ideal(Constant constant, double value) {
        return IDEAL.with(constant, value, "test");
    }

    public static Machine preset(String name) {
        return Machine.preset(name);
    }

    public static Machine machine(int devices, int hubs, Link... links) {
        return new Machine(
                "test",
                IntStream.range(0, devices)
                        .mapToObj(i -> Device.named("GPU" + i))
                        .toList(),
                IntStream.range(0, hubs)
                        .mapToObj(i -> Hub.of("switch" + i, Hub.Kind.PCIE_SWITCH))
                        .toList(),
                List.of(links),
                List.of(),
                List.of());
    }

    public static Link nvlink(int a, int b, double gbs) {
        return Link.duplex(a, b, Link.Kind.NVLINK, 1, gbs, 0);
    }

    static Link pcie(int a, int b, double gbs) {
        return Link.duplex(a, b, Link.Kind.PCIE, 16, gbs, 0);
    }

    /** Devices 0..n-1 around one hub. */
    public static Network around(int devices, double gbs) {
        return Network.of(machine(
                devices,
                1,
                IntStream.range(0, devices)
                        .mapToObj(device -> pcie(device, devices, gbs))
                        .toArray(Link[]::new)));
    }

    public static Network allToAll(int devices, double gbs) {
        List<Link> links = new ArrayList<>();
        for (int b = 1; b < devices; b++) {
            for (int a = 0; a < b; a++) {
                links.add(nvlink(a, b, gbs));
            }
        }
        return Network.of(machine(devices, 0, links.toArray(Link[]::new)));
    }

    /** Devices in a circle. */
    static Network circle(int devices, double gbs) {
        return Network.of(machine(
                devices,
                0,
                IntStream.range(0, devices)
                        .mapToObj(i -> nvlink(i, (i + 1) % devices, gbs))
                        .toArray(Link[]::new)));
    }

    /** Pairs of devices with direct links at random, and hubs that join all. */
    static Network random(Random random, int devices) {
        List<Link> links = new ArrayList<>();
        for (int b = 1; b < devices; b++) {
            for (int a = 0; a < b; a++) {
                if (random.nextInt(3) == 0) {
                    links.add(nvlink(a, b, 1 + random.nextInt(50)));
                }
            }
        }
        int hubs = 1 + random.nextInt(3);
        for (int device = 0; device < devices; device++) {
            links.add(pcie(device, devices + random.nextInt(hubs), 1 + random.nextInt(16)));
        }
        for (int hub = 1; hub < hubs; hub++) {
            links.add(pcie(devices + random.nextInt(hub), devices + hub, 1 + random.nextInt(16)));
        }
        return Network.ofAllLinks(
                machine(devices, hubs, links.toArray(Link[]::new)),
                IntStream.range(0, devices).toArray());
    }

    static Location at(int rank) {
        return new Location(rank, Space.OUTPUT, 0);
    }

    public static Step copy(int from, int to, Integer... after) {
        return new Step(List.of(at(from)), at(to), List.of(after));
    }

    public static Step combine(int target, List<Integer> sources, Integer... after) {
        return new Step(sources.stream().map(Samples::at).toList(), at(target), List.of(after));
    }

    public static Schedule schedule(int ranks, Chunk... chunks) {
        long bytes = Arrays.stream(chunks).mapToLong(Chunk::bytes).sum();
        return new Schedule("test", Collective.ALL_REDUCE, ranks, -1, bytes, 1, true, 0, List.of(chunks));
    }

    public static Schedule schedule(int ranks, long bytes, Step... steps) {
        return schedule(ranks, new Chunk(bytes, List.of(steps)));
    }

    static Schedule allReduce(CollectiveAlgorithm algorithm, long bytes, long chunkBytes) {
        return algorithm.schedule(new CollectiveRequest(Collective.ALL_REDUCE, -1, bytes / 4, 4, true, chunkBytes));
    }

    static Tree tree(int ranks, int root, Random random) {
        List<Integer> order = new ArrayList<>(IntStream.range(0, ranks).boxed().toList());
        Collections.shuffle(order, random);
        Collections.swap(order, 0, order.indexOf(root));
        int[] parents = new int[ranks];
        parents[root] = -1;
        for (int i = 1; i < ranks; i++) {
            parents[order.get(i)] = order.get(random.nextInt(i));
        }
        return Tree.ofParents(parents);
    }

    static CollectiveAlgorithm algorithm(int ranks, Random random) {
        return switch (random.nextInt(3)) {
            case 0 ->
                new ForestAlgorithm(
                        "forest",
                        Forest.equalShares(IntStream.range(0, 1 + random.nextInt(ranks))
                                .mapToObj(root -> tree(ranks, root, random))
                                .toList()));
            case 1 -> new RingAlgorithm(IntStream.range(0, ranks).toArray());
            default -> new StarAlgorithm(ranks, random.nextInt(ranks));
        };
    }

    static Schedule randomSchedule(int ranks, Random random) {
        Collective collective = COLLECTIVES.get(random.nextInt(COLLECTIVES.size()));
        return algorithm(ranks, random)
                .schedule(new CollectiveRequest(
                        collective,
                        collective.hasRoot() ? random.nextInt(ranks) : -1,
                        random.nextInt(1 << 17),
                        4,
                        random.nextBoolean(),
                        1L << (14 + random.nextInt(10))));
    }

    /** Every constant somewhere in its usual range. */
    static Profile randomProfile(Random random) {
        Profile profile = IDEAL;
        for (Constant constant : Constant.values()) {
            double value = switch (constant) {
                case NVLINK_EFFICIENCY,
                        XGMI_EFFICIENCY,
                        PCIE_EFFICIENCY,
                        SOCKET_EFFICIENCY,
                        NCCL_LL_FRACTION,
                        NCCL_LL128_FRACTION,
                        NCCL_SIMPLE_FRACTION,
                        NCCL_NVLS_FRACTION,
                        HOST_DUPLEX,
                        EXCHANGE_LINK_FRACTION,
                        EXCHANGE_MULTICAST_FRACTION,
                        PROGRAM_STORE_FRACTION -> 0.5 + random.nextDouble() / 2;
                case PCIE_QUEUEING, SOCKET_QUEUEING -> random.nextInt(2) * random.nextDouble();
                case REDUCE_GBS, PROGRAM_BLOCK_GBS -> 100 + random.nextInt(1000);
                case COPY_ENGINES -> 1 + random.nextInt(8);
                default -> random.nextInt(2) * random.nextDouble() * 5;
            };
            profile = profile.with(constant, value, "test");
        }
        return profile;
    }
}
