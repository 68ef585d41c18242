package dev.banyan.cuda.internal.program;

import dev.banyan.cuda.internal.driver.CudaDevice;
import dev.banyan.cuda.internal.launch.LaunchQueue;
import dev.banyan.cuda.internal.launch.Place;
import dev.banyan.cuda.internal.memory.Ranks;
import dev.banyan.cuda.internal.ptx.ElementTable;
import dev.banyan.cuda.internal.ptx.Kernel;
import dev.banyan.cuda.type.CudaException;
import dev.banyan.reduce.backend.Completion;
import dev.banyan.reduce.optimizer.Optimizer;
import dev.banyan.reduce.optimizer.ParameterUpdate;
import dev.banyan.schedule.type.DataType;
import java.util.List;

/**
 * Launches updates of values by kernels on their devices, in the streams of device programs: one launch for each
 * device, optimizer and type, as long as it updates no more than {@link ElementTable#MOST_ENTRIES} values. The kernels
 * take all that they need by their parameters. Used by one thread at a time.
 *
 * <p>An update needs no order between devices: a device's program ends when all that it receives has arrived, and
 * nothing is sent to a device before its next program begins.
 */
public final class UpdateLauncher {
    /** One launch can update values that agree in this. */
    private record Kind(CudaDevice device, Optimizer optimizer, long step, DataType type) {
        static Kind of(ParameterUpdate update, CudaDevice device) {
            // SGD has no coefficient that depends on the step; its first update may take a master value.
            long step = update.optimizer() instanceof Optimizer.Sgd ? Math.min(update.step(), 2) : update.step();
            return new Kind(device, update.optimizer(), step, update.type());
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
    public UpdateLauncher(Ranks ranks, List<CudaDevice> devices, LaunchQueue queue, ProgramLauncher programs) {
        this.ranks = ranks;
        this.queue = queue;
        this.programs = programs;
        runs = new ElementRuns("an update of values", devices, programs);
    }

    /**
     * Launches updates behind the runs before.
     *
     * @param completion learns of their end
     * @throws CudaException if the driver refuses that
     */
    public void start(List<ParameterUpdate> updates, Completion completion) {
        queue.inTurn(() -> {
            updates.forEach(update -> programs.access().check(update, ranks.get(update.rank())));
            queue.launch(programs, () -> launch(updates), new Place(null, completion));
        });
    }

    private ElementRun launch(List<ParameterUpdate> updates) {
        return runs.launch(
                updates.stream().filter(update -> update.count() > 0).toList(),
                update -> Kind.of(update, ranks.get(update.rank())),
                this::launch);
    }

    private void launch(Kind kind, List<ParameterUpdate> values) {
        ElementLaunch launch = new ElementLaunch();
        for (ParameterUpdate update : values) {
            launch.add(update.value(), update.gradient(), update.state(), update.count());
        }
        double[] coefficients = kind.optimizer().coefficients(kind.step());
        long[] parameters = new long[1 + coefficients.length];
        parameters[0] = kind.step() == 1 ? 1 : 0;
        for (int c = 0; c < coefficients.length; c++) {
            parameters[1 + c] = kind.type() == DataType.F64
                    ? Double.doubleToRawLongBits(coefficients[c])
                    : Float.floatToRawIntBits((float) coefficients[c]);
        }
        Kernel kernel = new Kernel.Update(Kernel.Update.Rule.of(kind.optimizer()), kind.type());
        launch.start(kernel, kind.device(), programs.stream(kind.device()), parameters);
    }
}
