package dev.banyan.djl;

import java.nio.file.Path;

/** Runs programs that know nothing of Banyan one after the other, since a run takes long to start. */
final class TrainingPrograms {
    static final int EPOCHS = 5;
    static final String[] OPTIMIZERS = {"sgd", "momentum", "adam"};

    private TrainingPrograms() {}

    /** Argument: a folder. */
    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        TrainingProgram.run(folder, EPOCHS, OPTIMIZERS);
        DatasetProgram.run(folder);
        NormProgram.run(folder);
        ReplicasProgram.run(folder);
    }
}
