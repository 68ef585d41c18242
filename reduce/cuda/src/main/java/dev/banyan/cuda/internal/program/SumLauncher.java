package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.reduce.backend.CallerStreams;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.internal.sum.ReproducibleSum;
import dev.banyan.reduce.internal.sum.SumPass;
import dev.banyan.schedule.type.DataType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Launches the passes of reproducible sums by kernels on their devices, in the streams of device programs. Used by one
 * thread at a time.
 */
public final class SumLauncher {
    /** One launch can run passes that agree in this. */
    private record Kind(CudaDevice device, Kernel kernel, int exponent, int divisor) {
        static Kind of(SumPass pass, CudaDevice device) {
            ReproducibleSum sum = pass.sum();
            Kernel kernel = new Kernel.Sum(pass.stage(), sum.type(), sum.integers() == DataType.I64);
            return new Kind(device, kernel, sum.exponentOfCodeZero(), sum.divisor());
        }
    }

    private final Ranks ranks;
    private final LaunchQueue queue;
    private final ProgramLauncher programs;
    private final ElementRuns runs;

    /**
     * @param devices all devices, as the programs have them
     * @param programs owns the streams
     */
    public SumLauncher(Ranks ranks, List<CudaDevice> devices, LaunchQueue queue, ProgramLauncher programs) {
        this.ranks = ranks;
        this.queue = queue;
        this.programs = programs;
        runs = new ElementRuns("a pass of reproducible sums", devices, programs);
    }

    /** Launches passes behind the runs before, as {@link dev.banyan.reduce.internal.sum.SumPasses#start} does. */
    public void start(List<SumPass> passes, @Nullable CallerStreams streams, Completion completion) {
        queue.start(programs, () -> launch(passes), streams, completion);
    }

    private ElementRun launch(List<SumPass> passes) {
        List<SumPass> nonempty =
                passes.stream().filter(pass -> pass.count() > 0).toList();
        nonempty.forEach(pass -> programs.access().check(pass, ranks.get(pass.rank())));
        return runs.launch(nonempty, pass -> Kind.of(pass, ranks.get(pass.rank())), this::launch);
    }

    private void launch(Kind kind, List<SumPass> passes) {
        ElementLaunch launch = new ElementLaunch();
        passes.forEach(pass -> launch.add(pass.values(), pass.codes(), pass.integers(), pass.count()));
        launch.start(kind.kernel(), kind.device(), programs.stream(kind.device()), kind.exponent(), kind.divisor());
    }
}
