package dev.banyan.cuda.internal.graph;

import dev.banyan.schedule.Schedule;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The steps that complete parts of the collective's result. */
final class Results {
    private Results() {}

    /** The value of a location. */
    private static final class Value {
        /** Step that reduced it, or -1. */
        private final int reducer;
        /** True if it became part of another one. */
        private boolean partial;

        Value(int reducer) {
            this.reducer = reducer;
        }
    }

    /**
     * Steps after which a mean can be taken, once for each element: the last reductions of what is in the
     * result.
     */
    static Set<Integer> completingSteps(Schedule schedule, ChunkShape.Numbered chunk) {
        @Nullable Value[] held = new Value[chunk.locations().size()];
        List<ChunkShape.NumberedStep> steps = chunk.shape().steps();
        for (int s = 0; s < steps.size(); s++) {
            ChunkShape.NumberedStep step = steps.get(s);
            if (step.sources().size() == 1) {
                held[step.target()] = value(held, step.sources().getFirst());
            } else {
                step.sources().forEach(source -> value(held, source).partial = true);
                held[step.target()] = new Value(s);
            }
        }
        Set<Integer> completing = new HashSet<>();
        IntStream.range(0, held.length)
                .filter(number -> schedule.hasResultAt(chunk.locations().get(number)))
                .forEach(number -> {
                    Value value = value(held, number);
                    if (value.reducer < 0 || value.partial) {
                        throw new IllegalArgumentException(
                                "the result at " + chunk.locations().get(number)
                                        + " is not made by a last reduction of its own, so its mean can't be taken;"
                                        + " verify the schedule");
                    }
                    completing.add(value.reducer);
                });
        return completing;
    }

    private static Value value(@Nullable Value[] held, int number) {
        Value value = held[number];
        if (value == null) {
            value = new Value(-1);
            held[number] = value;
        }
        return value;
    }
}
