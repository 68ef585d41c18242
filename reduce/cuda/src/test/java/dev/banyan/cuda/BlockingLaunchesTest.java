package dev.banyan.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.banyan.config.Config;
import dev.banyan.cuda.emulator.CudaEmulator;
import dev.banyan.cuda.internal.graph.GraphCache;
import dev.banyan.cuda.internal.graph.Moves;
import dev.banyan.cuda.internal.program.BlockingLaunches;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.cuda.type.PeerRule;
import dev.banyan.reduce.CollectiveCall;
import dev.banyan.reduce.Communicator;
import dev.banyan.schedule.internal.program.ProgramSizes;
import dev.banyan.schedule.plan.AlgorithmChoice;
import dev.banyan.schedule.plan.Planner;
import dev.banyan.schedule.plan.SizeRules;
import dev.banyan.topology.Machine;
import dev.banyan.topology.Presets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** CUDA_LAUNCH_BLOCKING=1, and what else makes launches wait for their kernels. */
class BlockingLaunchesTest {
    private static final Machine MACHINE =
            Presets.find("dgx-a100").orElseThrow().subset(0, 1);

    @Test
    void theVariableIsRefusedWhereSeveralDevicesAreUsed() {
        assertThatThrownBy(() -> BlockingLaunches.refuse("1", 2))
                .isInstanceOf(CudaException.class)
                .hasMessage(
                        "CUDA_LAUNCH_BLOCKING=1 lets each launch wait for its kernel, and kernels of several devices"
                                + " wait for each other; unset CUDA_LAUNCH_BLOCKING and use no tool that makes launches"
                                + " wait, or set BANYAN_CUDA_EXECUTOR=graph");
        assertThatCode(() -> {
                    BlockingLaunches.refuse("1", 1);
                    for (String variable : Stream.of("0", "").toList()) {
                        BlockingLaunches.refuse(variable, 2);
                    }
                    BlockingLaunches.refuse(null, 2);
                })
                .doesNotThrowAnyException();
    }

    /** The time of kernels passes once the first one waits for the second one, which has not been launched. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aLaunchThatWaitsForItsKernelIsNamed(boolean lines) {
        CudaEmulator emulator = EmulatedProcess.begin();
        emulator.tell("devices 2 switched");
        Config config = Config.builder()
                .set(Planner.ALGORITHM, SizeRules.always(AlgorithmChoice.RING))
                .build();
        Tuning tuning = new Tuning(
                Moves.DEFAULT,
                GraphCache.MOST_NODES,
                FaultClock.STOPPED,
                false,
                ExecutorChoice.KERNEL,
                lines ? ProgramSizes.DEFAULT : new ProgramSizes(0, 512, 2, 16),
                1,
                1);
        CudaBackend backend = new CudaBackend(new int[] {0, 1}, FaultClock.TIMEOUT, PeerRule.ALL, 64 << 20, tuning);
        try (Communicator gpus = Communicator.create(MACHINE, config, backend)) {
            CollectiveCall sum = CallersStreams.sum(gpus);
            gpus.run(sum);
            emulator.tell("launches blocking");
            long launches = emulator.count("calls cuLaunchKernel");
            CompletableFuture<Void> running = CompletableFuture.runAsync(() -> gpus.run(sum));
            while (emulator.count("calls cuLaunchKernel") == launches) {
                Thread.onSpinWait();
            }
            for (long micros = 1; !running.isDone(); micros++) {
                emulator.tell("timer " + micros * TimeUnit.DAYS.toMicros(31));
            }
            assertThatThrownBy(running::join)
                    .rootCause()
                    .isInstanceOf(CudaException.class)
                    .hasMessageStartingWith("the launch of all_reduce by ring on device 0 did not return")
                    .hasMessageEndingWith("or set BANYAN_CUDA_EXECUTOR=graph");
        }
        assertThat(emulator.problems()).isEmpty();
    }
}
