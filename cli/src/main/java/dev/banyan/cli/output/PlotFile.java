package dev.banyan.cli.output;

import dev.banyan.page.chart.Picture;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The file of a picture.
 *
 * @param path a file whose name ends in .svg, which may be there already
 */
public record PlotFile(Path path) {
    /** @throws IllegalArgumentException if the name has another end, or the file can't be written */
    public PlotFile {
        if (!path.toString().toLowerCase(Locale.ROOT).endsWith(".svg")) {
            throw new IllegalArgumentException(
                    "a picture goes into a file whose name ends in .svg, not '" + path + "'");
        }
        new OutputFile(path);
    }

    /** Returns the file of a name, which is refused as above. */
    public static PlotFile of(String name) {
        return new PlotFile(OutputFile.of(name).path());
    }

    /**
     * Writes a picture, over what is there.
     *
     * @throws java.io.UncheckedIOException if the file can't be written
     */
    public void write(Picture picture) {
        TextFile.write(path, picture.svg());
    }
}
