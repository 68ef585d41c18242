package dev.banyan.mpi;

import dev.banyan.config.Config;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;

/** What the last process does wrong; the others report what their calls throw. */
enum FaultProgram {
    /** It dies while others wait for it. */
    DIES {
        @Override
        void run(World world, boolean odd, MemorySegment array) {
            if (odd) {
                Runtime.getRuntime().halt(7);
            }
            world.all().allReduce(array, 4, DataType.F32, ReduceOp.SUM);
        }
    },
    /** It lives, but never opens the world. */
    NEVER_OPENS {
        @Override
        void begin(boolean odd) throws InterruptedException {
            if (odd) {
                new CountDownLatch(1).await();
            }
        }

        @Override
        void run(World world, boolean odd, MemorySegment array) {
            throw new IllegalStateException("the world has opened");
        }
    },
    /** It lives, but never does its part. */
    NEVER_ARRIVES {
        @Override
        void run(World world, boolean odd, MemorySegment array) throws InterruptedException {
            if (odd) {
                new CountDownLatch(1).await();
            }
            world.all().allReduce(array, 4, DataType.F32, ReduceOp.SUM);
        }
    },
    /** It has another setting. */
    IS_SET_OTHERWISE {
        @Override
        Config config(boolean odd) {
            return Config.builder().set(World.OUTSTANDING, odd ? 2 : 3).load();
        }

        @Override
        void run(World world, boolean odd, MemorySegment array) {
            throw new IllegalStateException("the world has opened");
        }
    },
    /** It reduces fewer elements, and then ends the world while the others wait for it. */
    REDUCES_LESS_AND_FINISHES_EARLY {
        @Override
        void run(World world, boolean odd, MemorySegment array) {
            try {
                world.all().allReduce(array, odd ? 2 : 4, DataType.F32, ReduceOp.SUM);
            } catch (OrderException e) {
                System.out.println("rank " + world.rank() + " goes on: " + e.getMessage());
            }
            if (!odd) {
                world.all().allReduce(array, 4, DataType.F32, ReduceOp.SUM);
            }
            world.finish();
        }
    },
    /** It ends the world with work in flight that no other one does. */
    FINISHES_WITH_WORK {
        @Override
        void run(World world, boolean odd, MemorySegment array) {
            ProcessGroup twin = world.all().duplicate();
            if (odd) {
                CompletableFuture<Void> _ = twin.allReduceAsync("key 7", array, 4, DataType.F32, ReduceOp.SUM);
            }
            world.finish();
        }
    },
    /** It never does its part in a call whose future the others cancel. */
    NEVER_ARRIVES_AT_A_CANCELLED_CALL {
        @Override
        void run(World world, boolean odd, MemorySegment array) throws InterruptedException {
            ProcessGroup twin = world.all().duplicate();
            if (odd) {
                new CountDownLatch(1).await();
            }
            twin.allReduceAsync("key 7", array, 4, DataType.F32, ReduceOp.SUM).cancel(false);
            while (true) {
                world.checkUsable();
                Thread.sleep(20);
            }
        }
    };

    static final class Main {
        private Main() {}

        public static void main(String[] arguments) {
            MpiRun.printPid();
            Integer rank = null;
            try (Arena arena = Arena.ofShared()) {
                FaultProgram fault = FaultProgram.valueOf(arguments[0]);
                rank = Integer.valueOf(System.getenv("OMPI_COMM_WORLD_RANK"));
                boolean odd = rank == Integer.parseInt(System.getenv("OMPI_COMM_WORLD_SIZE")) - 1;
                fault.begin(odd);
                fault.run(World.open(fault.config(odd)), odd, arena.allocate(ValueLayout.JAVA_FLOAT, 4));
            } catch (Throwable e) {
                System.out.println("rank " + rank + " failed: " + e.getMessage());
                awaitFailures(Path.of(arguments[1]), Integer.parseInt(arguments[2]), "failed-" + rank);
                System.exit(1);
            }
        }

        /** mpirun ends the others when one has ended, even before they have said why they fail. */
        private static void awaitFailures(Path folder, int number, String own) {
            try (WatchService watch = folder.getFileSystem().newWatchService()) {
                // A failure is counted below, or the service reports its file.
                folder.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
                Files.createFile(folder.resolve(own));
                while (failures(folder) < number) {
                    WatchKey created = watch.take();
                    var _ = created.pollEvents();
                    var _ = created.reset();
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private static long failures(Path folder) throws IOException {
            try (Stream<Path> files = Files.list(folder)) {
                return files.filter(file -> file.getFileName().toString().startsWith("failed-"))
                        .count();
            }
        }
    }

    Config config(boolean odd) {
        return Config.load();
    }

    /** Before the world is opened. */
    void begin(boolean odd) throws InterruptedException {}

    abstract void run(World world, boolean odd, MemorySegment array) throws InterruptedException;
}
