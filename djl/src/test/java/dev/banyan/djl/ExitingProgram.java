package dev.banyan.djl;

import ai.djl.Model;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import dev.banyan.test.Signals;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** Ends by {@link System#exit} in all processes; the first one saves its model before, which takes it a while. */
final class ExitingProgram {
    private ExitingProgram() {}

    /** Arguments: a folder, and the status of the second process. */
    public static void main(String[] arguments) throws Exception {
        boolean first = "0".equals(System.getenv("OMPI_COMM_WORLD_RANK"));
        Signals signals = new Signals(Path.of(arguments[0]));
        try (Model model = Model.newInstance("exiting")) {
            model.setBlock(Linear.builder().setUnits(2).build());
            try (Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()))) {
                trainer.initialize(new Shape(1, 2));
            }
            if (first) {
                signals.await("second-ended", 1);
            }
            model.save(Path.of(arguments[0]), "exiting");
        }
        if (!first) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> giveEnd(signals)));
        }
        System.exit(first ? 0 : Integer.parseInt(arguments[1]));
    }

    private static void giveEnd(Signals signals) {
        try {
            signals.give("second-ended");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
