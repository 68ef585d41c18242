package dev.banyan.djl;

import ai.djl.engine.Engine;

/** Fails in one process after the engine has started, as a program may that knows nothing of the others. */
final class FailingProgram {
    private FailingProgram() {}

    public static void main(String[] arguments) {
        Engine.getInstance();
        if ("1".equals(System.getenv("OMPI_COMM_WORLD_RANK"))) {
            throw new IllegalStateException("this process fails");
        }
    }
}
