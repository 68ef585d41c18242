package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.Cuda;
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
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * Launches the passes of reproducible sums by kernels on their devices, in the streams of device programs. Used by one
 * thread at a time.
 */
public final class SumLauncher {
    /** Blocks of a launch at most; some for each multiprocessor of large GPUs. */
    private static final int MOST_BLOCKS = 1024;

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
        for (SumPass pass : passes) {
            if (pass.count() > 0) {
                programs.access().check(pass, ranks.get(pass.rank()));
                launch(pass);
            }
        }
        return runs.ended();
    }

    private void launch(SumPass pass) {
        ReproducibleSum sum = pass.sum();
        Kernel kernel = new Kernel.Sum(pass.stage(), sum.type(), sum.integers() == DataType.I64);
        CudaDevice device = ranks.get(pass.rank());
        Pointer parameters = Pointer.to(
                new NativePointerObject[] {
                    Pointer.to(new long[] {pass.values().address()}),
                    Pointer.to(new long[] {pass.codes().address()}),
                    Pointer.to(new long[] {pass.integers().address()}),
                    Pointer.to(new long[] {pass.count()}),
                    Pointer.to(new int[] {sum.exponentOfCodeZero()}),
                    Pointer.to(new int[] {sum.divisor()})
                });
        int blocks = (int) Math.min(MOST_BLOCKS, Math.ceilDiv(pass.count(), (long) Kernel.BLOCK));
        device.enter();
        Cuda.check(
                JCudaDriver.cuLaunchKernel(
                        device.function(kernel),
                        blocks,
                        1,
                        1,
                        Kernel.BLOCK,
                        1,
                        1,
                        0,
                        programs.stream(device),
                        parameters,
                        null),
                "cuLaunchKernel of " + kernel.name() + " on device " + device.ordinal());
    }
}
