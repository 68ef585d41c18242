package dev.banyan.cuda.internal.job;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.driver.MappedMemory;
import dev.banyan.cuda.internal.driver.MulticastMemory;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.internal.processes.Exchange;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Makes one multicast object of the devices of all processes. After each step all processes learn whether one of them
 * has failed; then all do without. Used by one thread.
 */
final class JobMulticast {
    private final Exchange exchange;
    private final String what;
    private @Nullable MulticastMemory memory;
    /** Why there are no addresses; empty as long as there may be some. */
    private String failure = "";

    private JobMulticast(Exchange exchange, String what) {
        this.exchange = exchange;
        this.what = what;
    }

    /**
     * Makes the object, in all processes or in none. The first process logs why there is none.
     *
     * @param what it is for, the same in all processes
     * @param number of devices of all processes
     * @param devices those of this process
     * @param parts memory of each of them, of one length
     * @throws IllegalStateException if a process does something else, or one has ended
     */
    static Optional<MulticastMemory> make(
            Exchange exchange, String what, int number, List<CudaDevice> devices, List<MappedMemory> parts) {
        JobMulticast made = new JobMulticast(exchange, what);
        try {
            if (made.make(number, devices, parts)) {
                return Optional.ofNullable(made.memory);
            }
        } catch (Throwable e) {
            made.free();
            throw e;
        }
        made.free();
        if (exchange.process() == 0) {
            MulticastMemory.warn(made.failure);
        }
        return Optional.empty();
    }

    private boolean make(int number, List<CudaDevice> devices, List<MappedMemory> parts) {
        long bytes = parts.getFirst().bytes();
        int[] own = {};
        if (exchange.process() == 0) {
            try {
                memory = MulticastMemory.exportable(number, bytes);
                own = new int[] {memory.descriptor()};
            } catch (CudaException e) {
                fail(e);
            }
        }
        List<int[]> given = exchange.swapDescriptors(what, own);
        try {
            boolean haveAdded = allDo(() -> {
                MulticastMemory object = memory;
                if (object == null && given.getFirst().length > 0) {
                    object = MulticastMemory.imported(given.getFirst()[0], bytes);
                    memory = object;
                }
                if (object != null) {
                    devices.forEach(object::add);
                }
            });
            return haveAdded && allDo(() -> Objects.requireNonNull(memory).map(devices, parts));
        } finally {
            Exchange.closeDescriptors(given);
        }
    }

    /** Takes a step unless this process has failed, and returns whether all have taken it. */
    private boolean allDo(Runnable step) {
        if (failure.isEmpty()) {
            try {
                step.run();
            } catch (CudaException e) {
                fail(e);
            }
        }
        failure = exchange.swap(what, failure.getBytes(StandardCharsets.UTF_8)).stream()
                .map(reported -> new String(reported, StandardCharsets.UTF_8))
                .filter(reported -> !reported.isEmpty())
                .findFirst()
                .orElse("");
        return failure.isEmpty();
    }

    private void fail(CudaException e) {
        failure = "process " + exchange.process() + ": " + e.getMessage();
    }

    private void free() {
        if (memory != null) {
            int _ = memory.free();
        }
    }
}
