package dev.banyan.cli.output;

import dev.banyan.topology.internal.speed.SpeedChoice;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** Prints what a description leaves open and was assumed of links. */
public final class Assumptions {
    /** Words of assumptions on speeds, and the options that replace these. */
    private static final List<Replaced> REPLACED = List.of(
            new Replaced(SpeedChoice.BETWEEN_SOCKETS, List.of("--socket-gbs")),
            new Replaced(SpeedChoice.PCIE_GENERATION, List.of("--gpu", "--pcie-gen")),
            new Replaced(SpeedChoice.PER_LINK, List.of("--gpu", "--nvlink-gbs")));

    private record Replaced(String words, List<String> options) {}

    private Assumptions() {}

    /** One line, without a comment sign; empty where nothing was assumed. */
    public static Optional<String> line(List<String> assumed) {
        if (assumed.isEmpty()) {
            return Optional.empty();
        }
        String options = REPLACED.stream()
                .filter(one -> assumed.stream().anyMatch(phrase -> phrase.contains(one.words())))
                .flatMap(one -> one.options().stream())
                .distinct()
                .collect(Collectors.joining(" or "));
        String cpu = assumed.stream().anyMatch(phrase -> phrase.endsWith(SpeedChoice.BETWEEN_SOCKETS))
                ? "add the output of lscpu to the file, or "
                : "";
        return Optional.of("assumed: " + TerminalText.of(String.join("; ", assumed))
                + "; rates over such links rest on that"
                + (options.isEmpty() ? "" : " (" + cpu + "state what you know by " + options + ")"));
    }
}
