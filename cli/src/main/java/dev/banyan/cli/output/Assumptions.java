package dev.banyan.cli.output;

import java.util.List;
import java.util.Optional;

/** Prints assumed speeds of links. */
public final class Assumptions {
    private Assumptions() {}

    /** One line, without a comment sign; empty where nothing was assumed. */
    public static Optional<String> line(List<String> assumed) {
        return assumed.isEmpty()
                ? Optional.empty()
                : Optional.of("assumed: " + TerminalText.of(String.join("; ", assumed))
                        + "; what such links limit rests on that (if you know better, state it by --gpu, --pcie-gen,"
                        + " --nvlink-gbs, --socket-gbs or --peer-access)");
    }
}
