package dev.banyan.mpi;

import dev.banyan.config.Config;
import java.util.List;

/** Runs parts one after the other in one world, since most of the time of a short run goes into starting it. */
final class WorldProgram {
    private WorldProgram() {}

    /**
     * Runs all parts.
     *
     * @param parts names, each perhaps with numbers behind colons
     */
    public static void main(String[] parts) {
        MpiRun.printPid();
        try {
            World world = World.open(Config.load());
            for (String part : List.of(parts)) {
                long cases = run(world, part);
                System.out.println("passed " + part + ": " + cases + " cases");
            }
            world.finish();
            System.out.println("finished");
        } catch (Throwable e) {
            MpiRun.fail(e);
        }
    }

    private static long run(World world, String part) throws InterruptedException {
        String[] words = part.split(":", -1);
        return switch (words[0]) {
            case "matrix" -> MatrixProgram.run(world, false);
            case "full-matrix" -> MatrixProgram.run(world, true);
            case "machines" -> MachinesProgram.run(world, Integer.parseInt(words[1]));
            case "mismatches" -> MismatchProgram.run(world, Integer.parseInt(words[1]));
            case "random-sums" -> RandomSumsProgram.run(world, Integer.parseInt(words[1]), Long.parseLong(words[2]));
            case "stores" -> StoresProgram.run(world, Integer.parseInt(words[1]), Integer.parseInt(words[2]));
            default -> DevicesProgram.run(world, words[0]);
        };
    }

    static void require(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError("not so: " + what);
        }
    }
}
