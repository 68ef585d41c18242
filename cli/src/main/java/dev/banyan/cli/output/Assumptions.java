package dev.banyan.cli.output;

import dev.banyan.study.text.AssumptionText;
import java.util.List;
import java.util.Optional;

/** Prints what a description leaves open and was assumed of links. */
public final class Assumptions {
    private Assumptions() {}

    /** One line, without a comment sign; empty where nothing was assumed. */
    public static Optional<String> line(List<String> assumed) {
        return AssumptionText.of(assumed).map(TerminalText::of);
    }
}
