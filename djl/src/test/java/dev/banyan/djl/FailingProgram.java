package dev.banyan.djl;

import ai.djl.Model;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.Trainer;
import ai.djl.training.listener.SaveModelTrainingListener;
import ai.djl.training.loss.Loss;

/**
 * Fails in one process with a trainer open, as a program may that knows nothing of the others, which are somewhere else
 * then. Its listener saves the model on the way out.
 */
final class FailingProgram {
    private FailingProgram() {}

    /** Argument: a folder. */
    public static void main(String[] arguments) {
        try (Model model = Model.newInstance("failing")) {
            model.setBlock(Linear.builder().setUnits(2).build());
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.l2Loss())
                    .addTrainingListeners(new SaveModelTrainingListener(arguments[0]));
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 2));
                if ("1".equals(System.getenv("OMPI_COMM_WORLD_RANK"))) {
                    throw new IllegalStateException("this process fails");
                }
            }
        }
    }
}
