package dev.banyan.cuda.internal.driver;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import jcuda.driver.CUevent;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * The one order of all launches of this process whose kernels wait for kernels of other devices. Each backend has
 * streams of its own, and a device may begin kernels of several streams in any order: two launches that got the first
 * multiprocessors of different devices would wait for each other for ever. So each launch waits, on each of its
 * devices, for the last one there, whichever backend launched it.
 */
public final class LaunchOrder {
    private static final ReentrantLock LOCK = new ReentrantLock();
    /** The backend that launched last, by the device's ordinal. */
    private static final Map<Integer, Turns> LAST = new ConcurrentHashMap<>();

    private LaunchOrder() {}

    /** Makes launches that no launch of another backend comes between. */
    public static void inOneOrder(Runnable launches) {
        LOCK.lock();
        try {
            launches.run();
        } finally {
            LOCK.unlock();
        }
    }

    /** Forgets all launches, for tests that play a new process. */
    public static void forget() {
        LAST.clear();
    }

    /**
     * The launches of a backend in its stream of one device. Used in one order, and {@link #close} when nothing runs.
     */
    public static final class Turns {
        private final CudaDevice device;
        private final CUstream stream;
        private @Nullable CUevent ended;

        /** @param stream in which the launches on the device follow each other */
        public Turns(CudaDevice device, CUstream stream) {
            this.device = device;
            this.stream = stream;
        }

        /** Lets the next launch wait for the last one of another backend. The device's context is current. */
        public void begin() {
            Turns last = LAST.get(device.ordinal());
            if (last != null && !last.equals(this)) {
                Cuda.check(
                        JCudaDriver.cuStreamWaitEvent(stream, Objects.requireNonNull(last.ended), 0),
                        "cuStreamWaitEvent",
                        " for the launch of another communicator",
                        device);
            }
        }

        /**
         * Records an event behind the launch that has begun.
         *
         * @param event stays as it is until this backend has launched again
         * @param what was launched, for messages
         */
        public void end(CUevent event, String what) {
            Cuda.check(JCudaDriver.cuEventRecord(event, stream), "cuEventRecord behind ", what, device);
            ended = event;
            LAST.put(device.ordinal(), this);
        }

        /** Forgets the launches, which have ended, so that no later one waits for their event. */
        public void close() {
            inOneOrder(() -> LAST.remove(device.ordinal(), this));
        }
    }
}
