package dev.banyan.gpuday;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUDA_KERNEL_NODE_PARAMS;
import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUgraphNode;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Launches graphs of kernels that do nothing. The host's time is that of {@code cuGraphLaunch} alone; the time from end
 * to end is from before that call until the host knows that the last kernel has ended.
 */
final class GraphLaunches {
    private static final int MOST_NODES = 1024;
    private static final int MOST_NODES_QUICK = 16;

    private final Recorder recorder;
    private final Effort effort;

    GraphLaunches(Recorder recorder, Effort effort) {
        this.recorder = recorder;
        this.effort = effort;
    }

    /** The dependencies between a graph's nodes. */
    private enum Shape {
        INDEPENDENT("independent nodes on one GPU", 1),
        CHAIN("chain on one GPU", 1),
        ACROSS("chain over two GPUs by turns", 2),
        AROUND("chain over all GPUs by turns", 3);

        private final String label;
        private final int leastGpus;

        Shape(String label, int leastGpus) {
            this.label = label;
            this.leastGpus = leastGpus;
        }

        /** The GPU of a node. */
        Gpu gpu(List<Gpu> gpus, int node) {
            return switch (this) {
                case INDEPENDENT, CHAIN -> gpus.getFirst();
                case ACROSS -> gpus.get(node % 2);
                case AROUND -> gpus.get(node % gpus.size());
            };
        }
    }

    void run() {
        try (Gpus gpus = Gpus.open()) {
            CUstream stream = gpus.first().stream();
            int count = gpus.list().size();
            long most = effort.choose(MOST_NODES, MOST_NODES_QUICK);
            if (count == 1) {
                recorder.note("edges across GPUs are left out: there is one GPU");
            }
            for (Shape shape : Shape.values()) {
                if (count < shape.leastGpus) {
                    continue;
                }
                for (int nodes = 1; nodes <= most; nodes *= 2) {
                    if (effort.isOver()) {
                        recorder.note("time was over before graphs of " + nodes + " nodes, " + shape.label);
                        return;
                    }
                    measure(shape, nodes, gpus.list(), stream);
                }
            }
        }
    }

    private void measure(Shape shape, int nodes, List<Gpu> gpus, CUstream stream) {
        Gpu first = gpus.getFirst();
        CUgraphExec exec = graph(shape, nodes, gpus);
        try {
            first.enter();
            first.check(JCudaDriver.cuGraphUpload(exec, stream), "cuGraphUpload of " + nodes + " nodes");
            first.await(stream);
            double[][] times = Samples.pairs(effort.launches(), () -> launch(first, exec, stream));
            Map<String, String> of = new LinkedHashMap<>();
            of.put("nodes", Integer.toString(nodes));
            of.put("shape", shape.label);
            recorder.figure(Figure.of("graph launch, host", of, "us", times[0]));
            recorder.figure(Figure.of("graph launch, end to end", of, "us", times[1]));
        } finally {
            JCudaDriver.cuGraphExecDestroy(exec);
        }
    }

    /** Time in us of the call alone, and until the end. */
    private static double[] launch(Gpu gpu, CUgraphExec exec, CUstream stream) {
        long begin = System.nanoTime();
        int result = JCudaDriver.cuGraphLaunch(exec, stream);
        long launched = System.nanoTime();
        gpu.check(result, "cuGraphLaunch");
        gpu.check(JCudaDriver.cuStreamSynchronize(stream), "a graph");
        long end = System.nanoTime();
        return new double[] {(launched - begin) / 1e3, (end - begin) / 1e3};
    }

    private static CUgraphExec graph(Shape shape, int nodes, List<Gpu> gpus) {
        Gpu first = gpus.getFirst();
        CUgraph graph = new CUgraph();
        first.check(JCudaDriver.cuGraphCreate(graph, 0), "cuGraphCreate");
        try {
            CUgraphNode[] before = {};
            for (int node = 0; node < nodes; node++) {
                Gpu gpu = shape.gpu(gpus, node);
                CUDA_KERNEL_NODE_PARAMS parameters = new CUDA_KERNEL_NODE_PARAMS();
                parameters.func = gpu.function(Kernel.NOTHING);
                parameters.gridDimX = 1;
                parameters.gridDimY = 1;
                parameters.gridDimZ = 1;
                parameters.blockDimX = 1;
                parameters.blockDimY = 1;
                parameters.blockDimZ = 1;
                parameters.kernelParams = Pointer.to(new NativePointerObject[0]);
                CUgraphNode added = new CUgraphNode();
                // The node runs in the context that is current now.
                gpu.enter();
                gpu.check(
                        JCudaDriver.cuGraphAddKernelNode(added, graph, before, before.length, parameters),
                        "cuGraphAddKernelNode");
                if (shape != Shape.INDEPENDENT) {
                    before = new CUgraphNode[] {added};
                }
            }
            first.enter();
            CUgraphExec exec = new CUgraphExec();
            first.check(JCudaDriver.cuGraphInstantiate(exec, graph, 0), "cuGraphInstantiate of " + nodes + " nodes");
            return exec;
        } finally {
            JCudaDriver.cuGraphDestroy(graph);
        }
    }
}
