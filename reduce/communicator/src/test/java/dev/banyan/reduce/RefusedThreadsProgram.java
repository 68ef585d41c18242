package dev.banyan.reduce;

import dev.banyan.config.Config;
import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.reduce.internal.CallQueue;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.test.RefusedThreads;
import dev.banyan.topology.Machine;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.IntStream;

/**
 * Makes calls while starts of threads fail: in each run the start behind as many as an argument says, or all behind
 * them if the argument ends with a plus. It ends only if all calls do.
 */
final class RefusedThreadsProgram {
    private static final int RANKS = 2;
    /** Long enough that workers are woken. */
    private static final int COUNT = 3 << 20;

    private static int refused;

    private RefusedThreadsProgram() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] arguments) {
        RefusedThreads threads = RefusedThreads.inThisProcess();
        for (String argument : arguments) {
            boolean all = argument.endsWith("+");
            long after = Long.parseLong(all ? argument.substring(0, argument.length() - 1) : argument);
            for (Runnable work :
                    List.<Runnable>of(RefusedThreadsProgram::calls, RefusedThreadsProgram::callThatHangs)) {
                if (all) {
                    threads.refuseAll(after);
                } else {
                    threads.refuseOne(after);
                }
                work.run();
                threads.refuseNone();
            }
        }
        // An earlier failure must not keep later calls from working.
        int before = refused;
        calls();
        System.out.println(refused == before ? "all ended, refused " + refused : "calls fail though threads start");
    }

    private static void calls() {
        Machine machine =
                Machine.preset("p3.16xlarge").subset(IntStream.range(0, RANKS).toArray());
        Config config = Config.builder()
                .set("BANYAN_TIMEOUT_MS", "900000")
                .set("BANYAN_THREADS", "3")
                .build();
        try (Arena arena = Arena.ofShared();
                Communicator communicator = Communicator.onHost(machine, config)) {
            List<MemorySegment> buffers = new ArrayList<>();
            for (int r = 0; r < RANKS; r++) {
                MemorySegment buffer = arena.allocate(4L * COUNT, 64);
                buffer.set(ValueLayout.JAVA_INT, 0, 1);
                buffers.add(buffer);
            }
            CollectiveCall call = CollectiveCall.allReduce(buffers, COUNT, DataType.I32, ReduceOp.SUM);
            List<CompletableFuture<Void>> futures = new ArrayList<>();
            int succeeded = 0;
            for (int i = 0; i < 3; i++) {
                try {
                    futures.add(communicator.runAsync(call));
                } catch (OutOfMemoryError e) {
                    refused++;
                }
            }
            for (CompletableFuture<Void> future : futures) {
                succeeded += succeeds(future::join);
            }
            succeeded += succeeds(() -> communicator.run(call));
            int sum = buffers.getFirst().get(ValueLayout.JAVA_INT, 0);
            // A call that failed leaves its output undefined.
            if (succeeded == 4 && sum != 16) {
                throw new AssertionError(sum + " instead of 16");
            }
        } catch (OutOfMemoryError e) {
            refused++;
        }
    }

    private static int succeeds(Runnable call) {
        try {
            call.run();
            return 1;
        } catch (CompletionException e) {
            if (!(e.getCause() instanceof OutOfMemoryError)) {
                throw e;
            }
        } catch (OutOfMemoryError e) {
            // As at the system's limit.
        }
        refused++;
        return 0;
    }

    /** Its deadline ends it, however late the timer could start. */
    private static void callThatHangs() {
        CallQueue queue = new CallQueue("hanging", Duration.ofMillis(1), Duration.ofMillis(1));
        for (CallQueue.Call call : List.<CallQueue.Call>of(_ -> {}, completion -> completion.ended(null))) {
            try {
                queue.launch(call).join();
            } catch (CompletionException e) {
                if (e.getCause() instanceof OutOfMemoryError) {
                    refused++;
                } else if (!(e.getCause() instanceof CollectiveTimeoutException)) {
                    throw e;
                }
            } catch (OutOfMemoryError e) {
                refused++;
            } catch (IllegalStateException e) {
                // The call that hung has broken the queue.
            }
        }
        try {
            queue.close();
        } catch (CollectiveTimeoutException e) {
            // As documented: the call that hangs has not returned.
        }
    }
}
