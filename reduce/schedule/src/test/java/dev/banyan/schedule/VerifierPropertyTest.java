package dev.banyan.schedule;

import static org.assertj.core.api.Assertions.assertThat;

import dev.banyan.schedule.internal.algorithm.CollectiveAlgorithm;
import dev.banyan.schedule.internal.algorithm.CollectiveRequest;
import dev.banyan.schedule.internal.algorithm.Samples;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Whatever the verifier accepts gives right results in every order; most of what is changed it refuses. */
class VerifierPropertyTest {
    private static final List<Space> SPACES = List.of(Space.values());

    @Test
    void acceptedSchedulesGiveRightResultsInAnyOrder() {
        Random random = new Random(1);
        for (int i = 0; i < 2000; i++) {
            Schedule schedule = schedule(random);
            ScheduleVerifier.verify(schedule);
            assertThat(Interpreter.run(schedule, random))
                    .as(() -> SchedulePrinter.print(schedule))
                    .isEmpty();
        }
    }

    @Test
    void acceptedMutationsGiveRightResultsInAnyOrder() {
        Random random = new Random(2);
        int accepted = 0;
        int refused = 0;
        for (int i = 0; i < 6_000; i++) {
            Schedule schedule = schedule(random);
            if (schedule.chunks().isEmpty()) {
                continue;
            }
            Schedule mutant = mutate(schedule, random);
            for (int more = random.nextInt(3); more > 0 && !mutant.chunks().isEmpty(); more--) {
                mutant = mutate(mutant, random);
            }
            Schedule last = mutant;
            if (accepts(last)) {
                accepted++;
                for (int order = 0; order < 4; order++) {
                    assertThat(Interpreter.run(last, random))
                            .as(() -> SchedulePrinter.print(last))
                            .isEmpty();
                }
            } else {
                refused++;
            }
        }
        assertThat(accepted).as("harmless mutations").isGreaterThan(200);
        assertThat(refused).as("harmful mutations").isGreaterThan(2_000);
    }

    private static boolean accepts(Schedule schedule) {
        try {
            ScheduleVerifier.verify(schedule);
            return true;
        } catch (ScheduleException e) {
            assertThat(e.violations()).isNotEmpty();
            return false;
        }
    }

    private static Schedule schedule(Random random) {
        int n = 1 + random.nextInt(6);
        List<CollectiveAlgorithm> algorithms = Samples.algorithms(n, random);
        CollectiveRequest request = Samples.request(n, 40, random);
        return algorithms.get(random.nextInt(algorithms.size())).schedule(request);
    }

    private static Schedule mutate(Schedule schedule, Random random) {
        List<Chunk> chunks = new ArrayList<>(schedule.chunks());
        int c = random.nextInt(chunks.size());
        Chunk chunk = chunks.get(c);
        if (chunk.steps().isEmpty()) {
            chunks.remove(c);
            return with(schedule, schedule.scratchBytes(), chunks);
        }
        List<Step> steps = new ArrayList<>(chunk.steps());
        int s = random.nextInt(steps.size());
        Step step = steps.get(s);
        long scratchBytes = schedule.scratchBytes();
        switch (random.nextInt(11)) {
            case 0 -> steps.set(s, new Step(step.sources(), step.target(), without(step.after(), random)));
            case 1 -> steps.set(s, new Step(duplicated(step.sources(), random), step.target(), step.after()));
            case 2 -> steps.set(s, new Step(step.sources(), moved(step.target(), schedule, random), step.after()));
            case 3 -> {
                List<Location> sources = new ArrayList<>(step.sources());
                sources.replaceAll(source -> random.nextBoolean() ? moved(source, schedule, random) : source);
                steps.set(s, new Step(sources, step.target(), step.after()));
            }
            case 4 -> steps.remove(steps.size() - 1);
            case 5 -> {
                Step other = steps.get(random.nextInt(steps.size()));
                steps.set(s, new Step(step.sources(), other.target(), step.after()));
            }
            case 6 -> {
                Location other =
                        step.sources().get(random.nextInt(step.sources().size()));
                steps.set(s, new Step(step.sources(), other, step.after()));
            }
            case 7 -> {
                List<Location> sources = new ArrayList<>(step.sources());
                Collections.shuffle(sources, random);
                steps.set(s, new Step(sources, step.target(), step.after()));
            }
            case 8 -> chunks.add(chunk);
            case 9 -> {
                List<Integer> all = new ArrayList<>(step.after());
                if (s > 0) {
                    all.add(random.nextInt(s));
                }
                steps.set(s, new Step(step.sources(), step.target(), all));
            }
            default -> scratchBytes = Math.max(0, scratchBytes - schedule.elementBytes());
        }
        if (steps.isEmpty()) {
            chunks.remove(c);
        } else {
            chunks.set(c, new Chunk(chunk.bytes(), steps));
        }
        return with(schedule, scratchBytes, chunks);
    }

    private static List<Integer> without(List<Integer> after, Random random) {
        List<Integer> fewer = new ArrayList<>(after);
        if (!fewer.isEmpty()) {
            fewer.remove(/* index */ random.nextInt(fewer.size()));
        }
        return fewer;
    }

    private static List<Location> duplicated(List<Location> sources, Random random) {
        List<Location> more = new ArrayList<>(sources);
        more.add(sources.get(random.nextInt(sources.size())));
        return more;
    }

    private static Location moved(Location location, Schedule schedule, Random random) {
        return switch (random.nextInt(3)) {
            case 0 -> new Location(random.nextInt(schedule.ranks()), location.space(), location.offset());
            case 1 -> new Location(location.rank(), SPACES.get(random.nextInt(SPACES.size())), location.offset());
            default ->
                new Location(
                        location.rank(),
                        location.space(),
                        Math.max(0, location.offset() + (random.nextInt(5) - 2) * (long) schedule.elementBytes()));
        };
    }

    private static Schedule with(Schedule schedule, long scratchBytes, List<Chunk> chunks) {
        return new Schedule(
                schedule.algorithm(),
                schedule.collective(),
                schedule.ranks(),
                schedule.root(),
                schedule.count(),
                schedule.elementBytes(),
                schedule.inPlace(),
                scratchBytes,
                chunks);
    }
}
