package dev.banyan.gpuday;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import jcuda.Pointer;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;

/**
 * Runs 1 to k copies at once, each in a stream of its own, from a GPU to the host, from the host to it, both, to peers,
 * and from peers. Of k equal copies that begin together, the first to end says how many ran at once: if c ran at once,
 * whether they shared a link or had one each, the first ended after c/k of the time of all.
 */
final class CopiesAtOnce {
    private static final int MOST_COPIES = 8;
    private static final int MOST_COPIES_QUICK = 2;
    /** Arrays on the first GPU, which takes part in all copies. */
    private static final int ARRAYS = 5 * MOST_COPIES;

    private static final long MOST_BYTES = (long) ARRAYS << 25;
    private static final long MOST_BYTES_QUICK = (long) ARRAYS << 14;

    private final Recorder recorder;
    private final Effort effort;
    private long bytes;

    CopiesAtOnce(Recorder recorder, Effort effort) {
        this.recorder = recorder;
        this.effort = effort;
    }

    /** A copy in a stream. */
    private static final class Lane {
        final Gpu gpu;
        final Runnable copy;
        final CUstream stream;
        final CUevent begun;
        final CUevent ended;

        /** @param copies makes what queues a copy in a stream */
        Lane(Gpu gpu, Function<CUstream, Runnable> copies) {
            this.gpu = gpu;
            stream = gpu.stream();
            begun = gpu.event();
            ended = gpu.event();
            copy = copies.apply(stream);
        }
    }

    void run() {
        try (Gpus gpus = Gpus.open()) {
            Gpu first = gpus.first();
            bytes = first.bytesOfEach(effort.choose(MOST_BYTES, MOST_BYTES_QUICK), ARRAYS);
            for (Gpu gpu : gpus.list()) {
                bytes = Math.min(bytes, gpu.bytesOfEach(ARRAYS * bytes, ARRAYS));
            }
            int copies = (int) effort.choose(MOST_COPIES, MOST_COPIES_QUICK);
            List<Lane> toHost = new ArrayList<>();
            List<Lane> fromHost = new ArrayList<>();
            List<Lane> both = new ArrayList<>();
            for (int i = 0; i < copies; i++) {
                toHost.add(toHost(first));
                fromHost.add(fromHost(first));
                both.add(toHost.get(i));
                both.add(fromHost.get(i));
            }
            measure("to the host", toHost);
            measure("from the host", fromHost);
            measure("to and from the host, by turns", both);
            peers(gpus.list(), copies);
        }
    }

    private void peers(List<Gpu> gpus, int copies) {
        Gpu first = gpus.getFirst();
        List<Gpu> peers = gpus.stream()
                .skip(1)
                .filter(peer -> first.reaches(peer) && peer.reaches(first))
                .toList();
        if (peers.isEmpty()) {
            recorder.note(
                    gpus.size() == 1
                            ? "copies to peers are left out: there is one GPU"
                            : "copies to peers are left out: " + first + " has peer access to none");
            return;
        }
        List<Lane> out = new ArrayList<>();
        List<Lane> in = new ArrayList<>();
        List<Lane> toOne = new ArrayList<>();
        for (int i = 0; i < copies; i++) {
            Gpu peer = peers.get(i % peers.size());
            out.add(toPeer(first, first, peer));
            in.add(toPeer(first, peer, first));
            toOne.add(toPeer(first, first, peers.getFirst()));
        }
        measure("to peers, one after the other", out);
        measure("from peers, one after the other", in);
        measure("to one peer", toOne);
    }

    private Lane toHost(Gpu gpu) {
        Address source = gpu.memory(bytes);
        Pointer target = gpu.pinned(bytes);
        return new Lane(
                gpu,
                stream -> () ->
                        gpu.check(JCudaDriver.cuMemcpyDtoHAsync(target, source, bytes, stream), "cuMemcpyDtoHAsync"));
    }

    private Lane fromHost(Gpu gpu) {
        Address target = gpu.memory(bytes);
        Pointer source = gpu.pinned(bytes);
        return new Lane(
                gpu,
                stream -> () ->
                        gpu.check(JCudaDriver.cuMemcpyHtoDAsync(target, source, bytes, stream), "cuMemcpyHtoDAsync"));
    }

    /** In streams of one GPU, whichever way the bytes go, so that one event begins all. */
    private Lane toPeer(Gpu runner, Gpu from, Gpu to) {
        Address source = from.memory(bytes);
        Address target = to.memory(bytes);
        return new Lane(
                runner,
                stream -> () -> runner.check(
                        JCudaDriver.cuMemcpyPeerAsync(target, to.context(), source, from.context(), bytes, stream),
                        "cuMemcpyPeerAsync from " + from + " to " + to));
    }

    private void measure(String way, List<Lane> lanes) {
        for (int copies = 1; copies <= lanes.size(); copies++) {
            if (effort.isOver()) {
                recorder.note("time was over before " + copies + " copies " + way);
                return;
            }
            List<Lane> some = lanes.subList(0, copies);
            double[][] times = Samples.pairs(effort.samples(), () -> time(some));
            Map<String, String> of = new LinkedHashMap<>();
            of.put("copies", Integer.toString(copies));
            of.put("way", way);
            recorder.figure(
                    Figure.of("bandwidth of copies at once", of, "GB/s", Samples.gbs(copies * bytes, times[0])));
            recorder.figure(Figure.of("copies that ran at once", of, "copies", times[1]));
        }
    }

    /** Time of all copies in us, and how many ran at once. */
    private static double[] time(List<Lane> lanes) {
        Lane first = lanes.getFirst();
        Gpu gpu = first.gpu;
        gpu.enter();
        gpu.record(first.begun, first.stream);
        for (Lane lane : lanes) {
            gpu.check(JCudaDriver.cuStreamWaitEvent(lane.stream, first.begun, 0), "cuStreamWaitEvent");
        }
        for (Lane lane : lanes) {
            lane.copy.run();
            gpu.record(lane.ended, lane.stream);
        }
        double least = Double.MAX_VALUE;
        double most = 0;
        for (Lane lane : lanes) {
            gpu.await(lane.stream);
            double end = gpu.micros(first.begun, lane.ended);
            least = Math.min(least, end);
            most = Math.max(most, end);
        }
        return new double[] {most, most > 0 ? lanes.size() * least / most : lanes.size()};
    }
}
