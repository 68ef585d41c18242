package dev.banyan.reduce.internal.processes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import dev.banyan.test.Processes;
import dev.banyan.test.TestProcess;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Processes of which one ends or fails while others still join. */
@EnabledOnOs(OS.LINUX)
class JoiningTest {
    private static final int PROCESSES = 3;
    private static final long LONG = TimeUnit.MINUTES.toNanos(15);

    @RegisterExtension
    private final Processes processes = new Processes();

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void aProcessThatEndsWhileAnotherIsMissingIsNamed(int victim) throws Exception {
        Path job = folder.resolve("job");
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            Callable<Job> joining = () -> Job.join(new JobPlace(1 - victim, PROCESSES, job.toString()), 1, "", LONG);
            Future<Job> joined = threads.submit(joining);
            TestProcess ending = processes.start(new ProcessBuilder(Processes.java(
                    List.of(), JoiningProgram.class.getName(), Integer.toString(victim), "3", job.toString(), "stop")));
            ending.awaitLine("known");
            awaitJoined(1 - victim, job);
            ending.kill();
            assertThatThrownBy(joined::get)
                    .isInstanceOf(ExecutionException.class)
                    .cause()
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("process " + victim + " of 3 (process " + ending.pid()
                            + ") ended before all had joined; start all processes of the job anew");
        }
        assertThat(job).doesNotExist();
    }

    /** Waits until a process has joined in a folder. */
    private static void awaitJoined(int process, Path job) {
        try (SharedMemory memory =
                new FolderMeeting(new JobPlace(2, PROCESSES, job.toString())).open(System.nanoTime() + LONG)) {
            ControlBlock block = ControlBlock.of(memory.memory(), PROCESSES);
            while (!block.hasJoined(process)) {
                Backoff.pause();
            }
        }
    }

    @Test
    void allNameTheProcessThatIsLate() {
        try (SharedMemory memory = ControlBlock.make(PROCESSES)) {
            ControlBlock block = ControlBlock.of(memory.memory(), PROCESSES);
            block.join(0, ProcessId.own(), 1, 0);
            block.join(1, ProcessId.own(), 1, 0);
            for (long timeout : new long[] {0, LONG}) {
                assertThatThrownBy(() -> new Joining(block, System.nanoTime() - 1 + timeout).await())
                        .isInstanceOf(CollectiveTimeoutException.class)
                        .hasMessageContaining("process 2 of 3 has not joined");
            }
        }
    }

    @Test
    void allNameTheProcessThatFails() {
        try (SharedMemory memory = ControlBlock.make(PROCESSES)) {
            ControlBlock block = ControlBlock.of(memory.memory(), PROCESSES);
            block.join(0, ProcessId.own(), 1, 0);
            block.breakBy(0, ControlBlock.Break.FAILED);
            assertThatThrownBy(() -> new Joining(block, System.nanoTime() + LONG).await())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("process 0 of 3 (" + ProcessId.own() + ") failed while it joined");
        }
    }

    @Test
    void allNameTheNumberThatTwoProcessesHave() {
        try (SharedMemory memory = ControlBlock.make(PROCESSES)) {
            ControlBlock block = ControlBlock.of(memory.memory(), PROCESSES);
            block.join(0, ProcessId.own(), 1, 0);
            block.join(1, ProcessId.own(), 1, 0);
            assertThatThrownBy(() -> block.join(1, ProcessId.own(), 1, 0))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("two processes are number 1 of this job; give each its own BANYAN_RANK");
            assertThatThrownBy(() -> new Joining(block, System.nanoTime() + LONG).await())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("two processes are number 1 of this job; give each its own BANYAN_RANK");
        }
    }

    @Test
    void aProcessThatEndsAtARandomTimeIsNamed() throws Exception {
        endAtRandom(1, 26, LONG);
    }

    @Test
    @Tag("soak")
    void manyProcessesThatEndAtRandomTimesAreNamed() throws Exception {
        endAtRandom(200, 27, TimeUnit.MINUTES.toNanos(1));
    }

    private void endAtRandom(int runs, long seed, long latenessNanos) throws Exception {
        SplittableRandom random = new SplittableRandom(seed);
        List<Future<?>> ended = new ArrayList<>();
        // Most of a run is waiting, so that several take no longer than one.
        try (ExecutorService threads = Executors.newCachedThreadPool();
                ExecutorService several = Executors.newFixedThreadPool(4)) {
            for (int run = 0; run < runs; run++) {
                int victim = random.nextInt(PROCESSES);
                long life = random.nextLong(TimeUnit.MILLISECONDS.toNanos(500));
                Path job = folder.resolve("job" + run);
                String name = "run " + run + " of seed " + seed + ": process " + victim + " ends after " + life + " ns";
                ended.add(several.submit(() -> {
                    endOne(threads, job, victim, life, latenessNanos, name);
                    return null;
                }));
            }
        }
        for (Future<?> run : ended) {
            run.get();
        }
    }

    /** The victim is a process that ends, and two threads play the others. */
    private void endOne(ExecutorService threads, Path job, int victim, long lifeNanos, long latenessNanos, String run)
            throws Exception {
        TestProcess ending;
        List<Future<String>> others = new ArrayList<>();
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            ending = processes.start(new ProcessBuilder(Processes.java(
                    List.of(),
                    JoiningProgram.class.getName(),
                    Integer.toString(victim),
                    Integer.toString(PROCESSES),
                    job.toString(),
                    Integer.toString(server.getLocalPort()),
                    Long.toString(lifeNanos))));
            try (Socket _ = server.accept()) {
                for (int p = 0; p < PROCESSES; p++) {
                    if (p != victim) {
                        int process = p;
                        others.add(threads.submit(() -> endOfJoining(process, job, latenessNanos)));
                    }
                }
            }
        }
        for (Future<String> other : others) {
            // One that comes after the others have failed finds nobody.
            assertThat(other.get())
                    .as(run)
                    .matches("joined|(process " + victim + " .*|ranks? " + victim + " \\(process " + ending.pid()
                            + "\\).*|process " + ending.pid() + " has ended.*|process 0 of this job has not come"
                            + " .* or has left it after another process failed.*)");
        }
        if (ending.await() != 0) {
            assertThat(job).as(run).doesNotExist();
        }
    }

    /** Joins, and returns how that ended. */
    private static String endOfJoining(int process, Path job, long latenessNanos) {
        long timeout = TimeUnit.SECONDS.toNanos(5);
        long begin = System.nanoTime();
        String end;
        try (Job _ = Job.join(new JobPlace(process, PROCESSES, job.toString()), 1, "", timeout)) {
            end = "joined";
        } catch (RuntimeException e) {
            end = String.valueOf(e.getMessage());
        }
        long took = System.nanoTime() - begin;
        return took > timeout + latenessNanos ? "ended after " + took + " ns: " + end : end;
    }
}
