package dev.banyan.mpi;

import dev.banyan.config.Config;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.type.DataType;
import dev.banyan.schedule.type.ReduceOp;
import dev.banyan.test.Signals;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

/** The faults of the last process; the others report what their calls throw. */
enum FaultProgram {
    /** It dies while others wait for it. */
    DIES {
        @Override
        void run(World world, Scene scene) throws Exception {
            ProcessGroup twin = world.all().duplicate(scene.deadline);
            // A process that dies earlier takes along what the others need to open the world.
            scene.signals.give("opened-" + world.rank());
            if (scene.odd) {
                scene.signals.await("opened-", world.size());
                Runtime.getRuntime().halt(7);
            }
            twin.allReduce(scene.array, 4, DataType.F32, ReduceOp.SUM);
        }
    },
    /** It lives, but never opens the world. */
    NEVER_OPENS {
        @Override
        Config config(Scene scene) throws InterruptedException {
            if (scene.odd) {
                new CountDownLatch(1).await();
            }
            return Config.builder().set(Communicator.TIMEOUT, scene.deadline).load();
        }

        @Override
        void run(World world, Scene scene) {
            throw new IllegalStateException("the world has opened");
        }
    },
    /** It lives, but never does its part. */
    NEVER_ARRIVES {
        @Override
        void run(World world, Scene scene) throws InterruptedException {
            ProcessGroup twin = world.all().duplicate(scene.deadline);
            if (scene.odd) {
                new CountDownLatch(1).await();
            }
            twin.allReduce(scene.array, 4, DataType.F32, ReduceOp.SUM);
        }
    },
    /** It has another setting. */
    IS_SET_OTHERWISE {
        @Override
        Config config(Scene scene) {
            return Config.builder().set(World.OUTSTANDING, scene.odd ? 2 : 3).load();
        }

        @Override
        void run(World world, Scene scene) {
            throw new IllegalStateException("the world has opened");
        }
    },
    /** It reduces fewer elements, and then ends the world while the others wait for it. */
    REDUCES_LESS_AND_FINISHES_EARLY {
        @Override
        void run(World world, Scene scene) {
            try {
                world.all().allReduce(scene.array, scene.odd ? 2 : 4, DataType.F32, ReduceOp.SUM);
            } catch (OrderException e) {
                System.out.println("rank " + world.rank() + " goes on: " + e.getMessage());
            }
            if (!scene.odd) {
                world.all().allReduce(scene.array, 4, DataType.F32, ReduceOp.SUM);
            }
            world.finish();
        }
    },
    /** It swaps two reductions of lengths on which all have agreed. */
    SWAPS {
        @Override
        Config config(Scene scene) {
            return Config.builder()
                    .set(World.CHECK_ORDER, false)
                    .set(World.SHARED_MEMORY, false)
                    .load();
        }

        @Override
        void run(World world, Scene scene) {
            ProcessGroup twin = world.all().duplicate(scene.deadline);
            MemorySegment array = Arena.ofAuto().allocate(4 << 20, 64);
            int[] lengths = {4, 1 << 20};
            for (int length : lengths) {
                twin.allReduce(array, length, DataType.F32, ReduceOp.SUM);
            }
            twin.allReduce(scene.odd ? array : scene.array, lengths[scene.odd ? 1 : 0], DataType.F32, ReduceOp.SUM);
        }
    },
    /** Each process ends the world with work in flight that no other one does. */
    FINISHES_WITH_WORK {
        @Override
        void run(World world, Scene scene) {
            ProcessGroup even = world.all().duplicate(scene.deadline);
            ProcessGroup odd = world.all().duplicate(scene.deadline);
            CompletableFuture<Void> _ =
                    (scene.odd ? odd : even).allReduceAsync("key 7", scene.array, 4, DataType.F32, ReduceOp.SUM);
            world.finish();
        }
    },
    /** It never does its part in a call whose future the others cancel. */
    NEVER_ARRIVES_AT_A_CANCELLED_CALL {
        @Override
        void run(World world, Scene scene) throws InterruptedException {
            ProcessGroup twin = world.all().duplicate(scene.deadline);
            if (scene.odd) {
                new CountDownLatch(1).await();
            }
            twin.allReduceAsync("key 7", scene.array, 4, DataType.F32, ReduceOp.SUM)
                    .cancel(false);
            while (true) {
                world.checkUsable();
                Thread.yield();
            }
        }
    };

    /**
     * The means of a process to play its part.
     *
     * @param odd whether it is the process that does something wrong
     * @param signals between the processes
     * @param deadline of the calls that the fault keeps from ending
     * @param array of four floats
     */
    record Scene(boolean odd, Signals signals, Duration deadline, MemorySegment array) {}

    static final class Main {
        private Main() {}

        /** Arguments: the fault, a folder, the deadline in ms, and the number of processes that fail. */
        public static void main(String[] arguments) throws Exception {
            MpiRun.printPid();
            int rank = Integer.parseInt(System.getenv("OMPI_COMM_WORLD_RANK"));
            boolean odd = rank == Integer.parseInt(System.getenv("OMPI_COMM_WORLD_SIZE")) - 1;
            Signals signals = new Signals(Path.of(arguments[1]));
            try (Arena arena = Arena.ofShared()) {
                FaultProgram fault = FaultProgram.valueOf(arguments[0]);
                Scene scene = new Scene(
                        odd,
                        signals,
                        Duration.ofMillis(Long.parseLong(arguments[2])),
                        arena.allocate(ValueLayout.JAVA_FLOAT, 4));
                fault.run(World.open(fault.config(scene)), scene);
            } catch (Throwable e) {
                System.out.println("rank " + rank + " failed: " + e.getMessage());
                // mpirun ends the others when one has ended, even before they have said why they fail.
                signals.give("failed-" + rank);
                signals.await("failed-", Integer.parseInt(arguments[3]));
                System.exit(1);
            }
        }
    }

    Config config(Scene scene) throws InterruptedException {
        return Config.load();
    }

    abstract void run(World world, Scene scene) throws Exception;
}
