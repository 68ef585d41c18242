package dev.banyan.topology.internal.nvidia;

import dev.banyan.InputException;

/**
 * Refuses texts.
 *
 * @param source what the text is called
 */
record Refusals(String source) {
    static final String RERUN =
            "; run \"(nvidia-smi -L; nvidia-smi topo -m; nvidia-smi topo -p2p r; lscpu) > topo.txt\" and read that"
                    + " file, which no terminal has wrapped or cut";

    /** Refuses the output of another option of {@code nvidia-smi topo}. */
    InputException ofKind(int line, String option) {
        return at(
                line,
                0,
                option.equals("-mp")
                        ? "this is output of \"nvidia-smi topo -mp\", which hides NVLink and shows the PCIe path"
                                + " instead; run \"nvidia-smi topo -m\""
                        : "this is output of \"nvidia-smi topo -p2p\", which says whether peer access works but not"
                                + " over which links; run \"nvidia-smi topo -m\"");
    }

    /** @param column from 1, or 0 for the whole line */
    InputException at(int line, int column, String problem) {
        return new InputException(source, line + 1, column, problem);
    }
}
