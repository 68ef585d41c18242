package dev.banyan.cli.gpuday;

import dev.banyan.gpuday.Figure;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a part's output holds. Readers add to it. */
final class PartOutput {
    final List<Fact> facts = new ArrayList<>();
    final List<Figure> figures = new ArrayList<>();
    final List<String> notes = new ArrayList<>();
    final List<String> files = new ArrayList<>();
    /** Why the part has no meaning on this machine, or null. */
    @Nullable
    String skipped;
    /** What is wrong though the process ended well, or null. */
    @Nullable
    String wrong;
}
