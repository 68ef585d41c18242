package dev.banyan.gpuday;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import jcuda.driver.CUfunction;
import jcuda.driver.CUstream;
import org.jspecify.annotations.Nullable;

/**
 * Launches one kernel that does nothing on each of some GPUs: from one thread, GPU after GPU, and from a thread per GPU
 * at once. The host's time is from before the first launch until the last launch has returned, with what
 * it takes to make each GPU's context current.
 */
final class KernelLaunches {
    /** Some hundreds of us, longer than a launch takes. */
    private static final int SPINS = 20_000;

    private static final long NAP_NANOS = 10_000;

    private final Recorder recorder;
    private final Effort effort;

    KernelLaunches(Recorder recorder, Effort effort) {
        this.recorder = recorder;
        this.effort = effort;
    }

    /** A GPU with what is launched on it. */
    private record Site(Gpu gpu, CUfunction function, CUstream stream) {
        void launch() {
            gpu.enter();
            gpu.launch(function, 1, 1, stream);
        }

        void await() {
            gpu.await(stream);
        }
    }

    void run() {
        try (Gpus gpus = Gpus.open()) {
            List<Site> sites = new ArrayList<>();
            for (Gpu gpu : gpus.list()) {
                sites.add(new Site(gpu, gpu.function(Kernel.NOTHING), gpu.stream()));
            }
            for (int count = 1; ; count = Math.min(2 * count, sites.size())) {
                if (effort.isOver()) {
                    recorder.note("time was over before launches on " + count + " GPUs");
                    return;
                }
                record(count, "one for all GPUs", oneThread(sites.subList(0, count)));
                try (Crew crew = new Crew(sites.subList(0, count))) {
                    record(count, "one per GPU", Samples.pairs(effort.launches(), crew::launch));
                }
                if (count == sites.size()) {
                    return;
                }
            }
        }
    }

    private void record(int count, String threads, double[][] times) {
        Map<String, String> of = new LinkedHashMap<>();
        of.put("GPUs", Integer.toString(count));
        of.put("threads", threads);
        recorder.figure(Figure.of("kernel launch, host", of, "us", times[0]));
        recorder.figure(Figure.of("kernel launch, end to end", of, "us", times[1]));
    }

    private double[][] oneThread(List<Site> sites) {
        return Samples.pairs(effort.launches(), () -> {
            long begin = System.nanoTime();
            sites.forEach(Site::launch);
            long launched = System.nanoTime();
            sites.forEach(Site::await);
            return new double[] {(launched - begin) / 1e3, (System.nanoTime() - begin) / 1e3};
        });
    }

    /** A thread per GPU; they spin between launches, as waking them would be measured. */
    private static final class Crew implements AutoCloseable {
        private final List<Thread> threads = new ArrayList<>();
        private final AtomicInteger round = new AtomicInteger();
        private final AtomicInteger launched = new AtomicInteger();
        private final AtomicInteger ended = new AtomicInteger();
        private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
        private volatile boolean closed;

        Crew(List<Site> sites) {
            for (Site site : sites) {
                threads.add(Thread.ofPlatform()
                        .daemon()
                        .name("launches on " + site.gpu())
                        .start(() -> serve(site)));
            }
        }

        private void serve(Site site) {
            for (int served = 0; ; ) {
                int now = served;
                spin(() -> round.get() != now || closed);
                if (closed) {
                    return;
                }
                served++;
                try {
                    site.launch();
                    launched.incrementAndGet();
                    site.await();
                } catch (RuntimeException e) {
                    failure.set(e);
                }
                ended.incrementAndGet();
            }
        }

        /** Times in us until all launches have returned, and until all kernels have ended. */
        double[] launch() {
            int all = threads.size();
            launched.set(0);
            ended.set(0);
            long begin = System.nanoTime();
            round.incrementAndGet();
            spin(() -> launched.get() == all || failure.get() != null);
            long after = System.nanoTime();
            spin(() -> ended.get() == all || failure.get() != null);
            long end = System.nanoTime();
            RuntimeException failed = failure.get();
            if (failed != null) {
                throw failed;
            }
            return new double[] {(after - begin) / 1e3, (end - begin) / 1e3};
        }

        private static void spin(BooleanSupplier until) {
            for (int spins = 0; !until.getAsBoolean(); spins++) {
                if (spins < SPINS) {
                    Thread.onSpinWait();
                } else {
                    // There may be fewer processors than threads.
                    LockSupport.parkNanos(NAP_NANOS);
                }
            }
        }

        @Override
        public void close() {
            closed = true;
            for (Thread thread : threads) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    return;
                }
            }
        }
    }
}
