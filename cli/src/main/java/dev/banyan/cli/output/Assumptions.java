package dev.banyan.cli.output;

import dev.banyan.topology.internal.speed.SpeedChoice;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Prints assumed speeds of links. */
public final class Assumptions {
    /** The options that replace assumptions, by words of these. */
    private static final Map<String, List<String>> OPTIONS = new TreeMap<>(Map.of(
            "one way per",
            List.of("--gpu", "--nvlink-gbs"),
            "PCIe gen",
            List.of("--gpu", "--pcie-gen"),
            SpeedChoice.BETWEEN_SOCKETS,
            List.of("--socket-gbs")));

    private Assumptions() {}

    /** One line, without a comment sign; empty where nothing was assumed. */
    public static Optional<String> line(List<String> assumed) {
        if (assumed.isEmpty()) {
            return Optional.empty();
        }
        String options = OPTIONS.entrySet().stream()
                .filter(entry -> assumed.stream().anyMatch(phrase -> phrase.contains(entry.getKey())))
                .flatMap(entry -> entry.getValue().stream())
                .distinct()
                .collect(Collectors.joining(" or "));
        return Optional.of("assumed: " + TerminalText.of(String.join("; ", assumed))
                + "; what such links limit rests on that"
                + (options.isEmpty() ? "" : " (if you know better, state it by " + options + ")"));
    }
}
