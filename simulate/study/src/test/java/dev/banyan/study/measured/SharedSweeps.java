package dev.banyan.study.measured;

import java.nio.file.Files;
import java.nio.file.Path;

/** The published sweeps in the folder {@code shared/} beside the checkout, which need not be there. */
final class SharedSweeps {
    private SharedSweeps() {}

    /** Returns the file of a name, in the folder of figures or of users' files. */
    static Path path(String name) {
        Path shared = Path.of(System.getProperty("banyan.shared", ""));
        Path user = shared.resolve("cases").resolve(name);
        return Files.exists(user)
                ? user
                : shared.resolve("figures").resolve("nccl_tests").resolve(name);
    }
}
