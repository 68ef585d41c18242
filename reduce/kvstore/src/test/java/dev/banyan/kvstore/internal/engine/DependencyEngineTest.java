package dev.banyan.kvstore.internal.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class DependencyEngineTest {
    private static final List<Variable> NONE = List.of();

    private final DependencyEngine engine = new DependencyEngine(2);
    private final Variable a = engine.variable();
    private final Variable b = engine.variable();

    @AfterEach
    void close() {
        engine.close();
    }

    /** Remembers who was skipped and why. */
    private record Recording(List<String> log, String name) implements Task {
        @Override
        public void run() {
            log.add(name);
        }

        @Override
        public void skipped(Throwable cause) {
            log.add(name + " skipped: " + cause.getMessage());
        }
    }

    @Test
    void readsOfOneVariableRunTogether() {
        CyclicBarrier both = new CyclicBarrier(2);
        engine.push(() -> {}, NONE, List.of(a), 0);
        engine.push(() -> both.await(), List.of(a), NONE, 0);
        engine.push(() -> both.await(), List.of(a), NONE, 0);
        engine.waitAll();
    }

    @Test
    void lanesDoNotKeepEachOtherFromGoingOn() {
        CountDownLatch copied = new CountDownLatch(1);
        for (int i = 0; i < 2; i++) {
            engine.push(Lane.COMPUTE, copied::await, NONE, NONE, 0);
        }
        engine.push(Lane.COMMUNICATION, copied::countDown, NONE, NONE, 0);
        engine.waitAll();
    }

    @Test
    void readyOperationsRunByPriorityThenByAge() throws InterruptedException {
        List<Integer> order = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch go = new CountDownLatch(1);
        try (DependencyEngine single = new DependencyEngine(1)) {
            CountDownLatch busy = new CountDownLatch(1);
            single.push(
                    () -> {
                        busy.countDown();
                        go.await();
                    },
                    NONE,
                    NONE,
                    0);
            busy.await();
            int[] priorities = {1, 3, 2, 3, -1, 2};
            for (int i = 0; i < priorities.length; i++) {
                int index = i;
                single.push(() -> order.add(index), NONE, NONE, priorities[i]);
            }
            go.countDown();
            single.waitAll();
        }
        assertThat(order).containsExactly(1, 3, 2, 5, 0, 4);
    }

    @Test
    void waitingForAVariableWaitsForNothingElse() {
        CountDownLatch go = new CountDownLatch(1);
        AtomicInteger written = new AtomicInteger();
        engine.push(go::await, NONE, List.of(a), 0);
        engine.push(written::incrementAndGet, NONE, List.of(b), 0);
        engine.waitFor(b);
        assertThat(written).hasValue(1);
        go.countDown();
    }

    @Test
    void aVariableMayBeNamedSeveralTimes() {
        AtomicInteger runs = new AtomicInteger();
        List<Variable> often =
                IntStream.range(0, 40).mapToObj(i -> i % 2 == 0 ? a : b).toList();
        engine.push(runs::incrementAndGet, List.of(a, a, b), List.of(b, b), 0);
        engine.push(runs::incrementAndGet, often, often, 0);
        engine.push(runs::incrementAndGet, often, NONE, 0);
        engine.waitFor(a);
        engine.waitFor(b);
        assertThat(runs).hasValue(3);
    }

    @Test
    void failuresPoisonWhatWouldHaveBeenWritten() {
        List<String> log = Collections.synchronizedList(new ArrayList<>());
        Variable c = engine.variable();
        engine.push(
                () -> {
                    throw new IOException("no disk");
                },
                NONE,
                List.of(a),
                0);
        engine.push(new Recording(log, "reads a, writes b"), List.of(a), List.of(b), 0);
        engine.push(new Recording(log, "reads b"), List.of(b), NONE, 0);
        engine.push(new Recording(log, "writes c"), NONE, List.of(c), 0);
        engine.waitFor(c);
        assertThatThrownBy(() -> engine.waitFor(b))
                .isInstanceOf(EngineException.class)
                .hasMessage("an operation failed: java.io.IOException: no disk")
                .hasCauseInstanceOf(IOException.class);
        assertThat(log)
                .containsExactlyInAnyOrder(
                        "reads a, writes b skipped: no disk", "reads b skipped: no disk", "writes c");
        // The wait has reported the failure; b is healed, a is not.
        engine.push(new Recording(log, "b again"), NONE, List.of(b), 0);
        engine.waitFor(b);
        assertThat(log).contains("b again");
        assertThatThrownBy(engine::waitAll).hasCauseInstanceOf(IOException.class);
        assertThatCode(engine::waitAll).doesNotThrowAnyException();
        engine.push(new Recording(log, "a again"), NONE, List.of(a), 0);
        engine.waitAll();
        assertThat(log).contains("a again");
    }

    @Test
    void failuresOfOperationsThatWriteNothingSurfaceToo() {
        engine.push(
                () -> {
                    throw new IOException("first");
                },
                List.of(a),
                NONE,
                0);
        engine.waitFor(a);
        assertThatThrownBy(engine::waitAll).hasRootCauseMessage("first");
        engine.waitAll();
    }

    @Test
    void othersBringDeferredOperationsToTheirEnd() throws InterruptedException {
        BlockingQueue<Completion> started = new LinkedBlockingQueue<>();
        List<String> log = Collections.synchronizedList(new ArrayList<>());
        engine.pushDeferred(started::add, NONE, List.of(a));
        engine.push(new Recording(log, "after"), List.of(a), NONE, 0);
        Completion completion = started.take();
        assertThat(log).isEmpty();
        completion.done();
        completion.failed(new IOException("too late, and ignored"));
        engine.waitAll();
        assertThat(log).containsExactly("after");
        engine.pushDeferred(started::add, NONE, List.of(a));
        started.take().failed(new IOException("lost"));
        assertThatThrownBy(() -> engine.waitFor(a)).hasRootCauseMessage("lost");
    }

    @Test
    void anyNumberOfPoisonedOperationsNeedOneStackFrame() throws InterruptedException {
        BlockingQueue<Completion> started = new LinkedBlockingQueue<>();
        engine.pushDeferred(started::add, NONE, List.of(a));
        for (int i = 0; i < 100_000; i++) {
            engine.pushDeferred(started::add, NONE, List.of(a));
        }
        started.take().failed(new IOException("lost"));
        assertThatThrownBy(() -> engine.waitFor(a)).hasRootCauseMessage("lost");
        assertThat(started).isEmpty();
    }

    @Test
    void tasksMayPushButNotWait() {
        AtomicInteger inner = new AtomicInteger();
        engine.push(() -> engine.push(inner::incrementAndGet, NONE, List.of(b), 0), NONE, List.of(a), 0);
        engine.waitAll();
        assertThat(inner).hasValue(1);
        engine.push(() -> engine.waitFor(b), NONE, List.of(a), 0);
        assertThatThrownBy(() -> engine.waitFor(a))
                .cause()
                .hasMessageContaining("push an operation that does the rest");
    }

    @Test
    void refusesWhatItCannotDo() {
        assertThatThrownBy(() -> new DependencyEngine(0)).hasMessageContaining("give at least 1");
        try (DependencyEngine other = new DependencyEngine(1)) {
            Variable foreign = other.variable();
            assertThatThrownBy(() -> engine.push(() -> {}, NONE, List.of(foreign), 0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("variable of another engine");
        }
        engine.close();
        engine.close();
        assertThatThrownBy(() -> engine.push(() -> {}, NONE, List.of(a), 0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("engine is closed");
    }

    @Test
    void closingWaitsForWhatWasPushed() {
        AtomicInteger runs = new AtomicInteger();
        for (int i = 0; i < 1000; i++) {
            engine.push(runs::incrementAndGet, NONE, List.of(a), 0);
        }
        engine.close();
        assertThat(runs).hasValue(1000);
    }
}
