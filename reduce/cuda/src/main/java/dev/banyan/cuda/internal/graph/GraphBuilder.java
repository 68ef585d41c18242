package dev.banyan.cuda.internal.graph;

import dev.banyan.cuda.internal.driver.Cuda;
import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.DeviceAddress;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.schedule.Location;
import dev.banyan.schedule.Space;
import java.lang.foreign.Arena;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUDA_KERNEL_NODE_PARAMS;
import jcuda.driver.CUDA_MEMCPY3D;
import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUgraphNode;
import jcuda.driver.CUmemorytype;
import jcuda.driver.JCudaDriver;

/**
 * Makes a graph of routes for given buffers. A piece's node waits for what it needs, for the same node of the piece
 * before it, and for the readers of what its place in the ring held before; for nothing else.
 *
 * <p>When the nodes of a {@link Mark} are done, its word in the host's memory becomes 1.
 *
 * <p>Cost: O(pieces x templates) calls of the driver.
 */
final class GraphBuilder {
    private final GraphPlan plan;
    private final long[] inputs;
    private final long[] outputs;
    private final CUgraph graph = new CUgraph();
    private int nodeCount;

    /**
     * @param inputs address of each rank's input
     * @param outputs address of each rank's output
     */
    GraphBuilder(GraphPlan plan, long[] inputs, long[] outputs) {
        this.plan = plan;
        this.inputs = inputs;
        this.outputs = outputs;
    }

    Graph build() {
        Cuda.check(JCudaDriver.cuGraphCreate(graph, 0), "cuGraphCreate");
        try {
            List<RouteNodes> routes = new ArrayList<>();
            for (int r = 0; r < plan.routes().size(); r++) {
                routes.add(new RouteNodes(r));
                routes.getLast().add();
            }
            for (int m = 0; m < plan.marks().size(); m++) {
                Mark mark = plan.marks().get(m);
                CUgraphNode[] before = mark.nodes().stream()
                        .map(place -> routes.get(place.route()).last(place.template()))
                        .toArray(CUgraphNode[]::new);
                copyNode(mark.device(), mark.device().one(), plan.markBlock().address() + 4L * m, 4, before);
            }
            CUgraphExec exec = new CUgraphExec();
            Cuda.check(JCudaDriver.cuGraphInstantiate(exec, graph, 0), "cuGraphInstantiate");
            return new Graph(exec, nodeCount);
        } finally {
            Cuda.check(JCudaDriver.cuGraphDestroy(graph), "cuGraphDestroy");
        }
    }

    /** The nodes of one route. */
    private final class RouteNodes {
        private final int number;
        private final Route route;
        private final List<CUgraphNode[]> nodes = new ArrayList<>();
        /** Templates that read each slot, then each host slot. */
        private final List<List<Integer>> readers = new ArrayList<>();

        RouteNodes(int number) {
            this.number = number;
            route = plan.routes().get(number);
            for (int s = 0; s < route.slots().size() + route.hostSlots().size(); s++) {
                readers.add(new ArrayList<>());
            }
            for (int o = 0; o < route.templates().size(); o++) {
                for (Operand source : route.templates().get(o).sources()) {
                    if (source.kind() != Operand.Kind.BUFFER) {
                        readers.get(slot(source)).add(o);
                    }
                }
            }
        }

        private int slot(Operand operand) {
            return operand.kind() == Operand.Kind.SLOT
                    ? operand.index()
                    : route.slots().size() + operand.index();
        }

        void add() {
            for (int p = 0; p < route.pieces().size(); p++) {
                nodes.add(new CUgraphNode[route.templates().size()]);
                for (int o = 0; o < route.templates().size(); o++) {
                    nodes.get(p)[o] = node(p, route.templates().get(o), before(p, o));
                }
            }
        }

        /** The node of the last piece. */
        CUgraphNode last(int template) {
            return nodes.getLast()[template];
        }

        private CUgraphNode[] before(int p, int o) {
            NodeTemplate template = route.templates().get(o);
            Set<CUgraphNode> before = new LinkedHashSet<>();
            for (int other : template.after()) {
                before.add(nodes.get(p)[other]);
            }
            if (p > 0) {
                before.add(nodes.get(p - 1)[o]);
            }
            if (p >= plan.ring() && template.target().kind() != Operand.Kind.BUFFER) {
                for (int reader : readers.get(slot(template.target()))) {
                    before.add(nodes.get(p - plan.ring())[reader]);
                }
            }
            return before.toArray(CUgraphNode[]::new);
        }

        private CUgraphNode node(int p, NodeTemplate template, CUgraphNode[] before) {
            Route.Piece piece = route.pieces().get(p);
            CudaDevice device = plan.devices().get(template.rank());
            return switch (template) {
                case NodeTemplate.Copy copy ->
                    copyNode(
                            device,
                            address(copy.source(), p),
                            address(copy.target(), p),
                            piece.elements() * bytes(copy),
                            before);
                case NodeTemplate.Launch launch -> kernelNode(device, launch, p, before);
            };
        }

        private int bytes(NodeTemplate.Copy copy) {
            for (Operand operand : List.of(copy.source(), copy.target())) {
                switch (operand.kind()) {
                    case SLOT -> {
                        return route.slots().get(operand.index()).elementBytes();
                    }
                    case HOST -> {
                        return route.hostSlots().get(operand.index()).elementBytes();
                    }
                    case BUFFER -> {}
                }
            }
            return plan.elementBytes();
        }

        private CUgraphNode kernelNode(CudaDevice device, NodeTemplate.Launch launch, int p, CUgraphNode[] before) {
            long elements = route.pieces().get(p).elements();
            List<Long> parameters = new ArrayList<>();
            parameters.add(address(launch.target(), p));
            launch.sources().forEach(source -> parameters.add(address(source, p)));
            parameters.add(elements);
            if (launch.divisor() > 0) {
                parameters.add((long) launch.divisor());
            }
            CUDA_KERNEL_NODE_PARAMS node = new CUDA_KERNEL_NODE_PARAMS();
            node.func = device.function(launch.kernel());
            node.gridDimX = blocks(device, launch.kernel(), elements);
            node.gridDimY = 1;
            node.gridDimZ = 1;
            node.blockDimX = Kernel.BLOCK;
            node.blockDimY = 1;
            node.blockDimZ = 1;
            CUgraphNode added = new CUgraphNode();
            nodeCount++;
            device.enter();
            // The parameters are in native memory for the reason that LaunchParameters gives.
            try (Arena arena = Arena.ofConfined()) {
                node.kernelParams = Pointer.to(parameters.stream()
                        .map(value -> Pointer.to(
                                arena.allocateFrom(ValueLayout.JAVA_LONG, value).asByteBuffer()))
                        .toArray(NativePointerObject[]::new));
                Cuda.check(
                        JCudaDriver.cuGraphAddKernelNode(added, graph, before, before.length, node),
                        "cuGraphAddKernelNode of " + launch.kernel().name() + " on device " + device.ordinal());
            }
            return added;
        }

        /** As many as can be on the device at a time, if there is enough to do. */
        private int blocks(CudaDevice device, Kernel kernel, long elements) {
            int perBlock = Kernel.BLOCK * Math.max(1, kernel.bytesPerThread() / plan.elementBytes());
            return (int) Math.clamp(Math.ceilDiv(elements, (long) perBlock), 1, 4L * device.multiprocessors());
        }

        private long address(Operand operand, int p) {
            Route.Piece piece = route.pieces().get(p);
            return switch (operand.kind()) {
                case BUFFER -> {
                    Location location = route.buffers().get(operand.index());
                    long start = (location.space() == Space.INPUT ? inputs : outputs)[location.rank()];
                    yield start + piece.offsets().get(operand.index());
                }
                case SLOT -> {
                    Layout.Place place = plan.layout().slot(number, operand.index());
                    CudaDevice device = plan.devices()
                            .get(route.slots().get(operand.index()).rank());
                    long block = plan.blocks().getOrDefault(device, 0L);
                    yield block + place.offset() + p % plan.ring() * place.stride() + phase(p);
                }
                case HOST -> {
                    Layout.Place place = plan.layout().hostSlot(number, operand.index());
                    yield plan.hostBlock() + place.offset() + p % plan.ring() * place.stride();
                }
            };
        }

        /** Distance of the piece's first buffer from a multiple of 16. Wide sums need none: no vector has them. */
        private long phase(int p) {
            if (route.slots().stream().anyMatch(slot -> slot.elementBytes() != plan.elementBytes())) {
                return 0;
            }
            for (int b = 0; b < route.buffers().size(); b++) {
                if (route.buffers().get(b).space() != Space.SCRATCH) {
                    return address(new Operand(Operand.Kind.BUFFER, b), p) & 15;
                }
            }
            return 0;
        }
    }

    private CUgraphNode copyNode(CudaDevice device, long source, long target, long bytes, CUgraphNode[] before) {
        CUDA_MEMCPY3D copy = new CUDA_MEMCPY3D();
        copy.srcMemoryType = CUmemorytype.CU_MEMORYTYPE_UNIFIED;
        copy.srcDevice = new DeviceAddress(source);
        copy.dstMemoryType = CUmemorytype.CU_MEMORYTYPE_UNIFIED;
        copy.dstDevice = new DeviceAddress(target);
        copy.WidthInBytes = bytes;
        copy.Height = 1;
        copy.Depth = 1;
        CUgraphNode added = new CUgraphNode();
        nodeCount++;
        device.enter();
        Cuda.check(
                JCudaDriver.cuGraphAddMemcpyNode(added, graph, before, before.length, copy, device.context()),
                "cuGraphAddMemcpyNode of " + bytes + " bytes on device " + device.ordinal());
        return added;
    }
}
