package dev.banyan.cli.plot;

import dev.banyan.cli.output.OutputFile;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Where a picture goes; the file's name says in which format.
 *
 * @param path a file, which may be there already
 * @param format by the end of its name
 */
public record PlotFile(Path path, Format format) {
    /** What pictures are written as. */
    public enum Format {
        SVG,
        PNG
    }

    /**
     * By the end of a file's name.
     *
     * @throws IllegalArgumentException if it is neither .svg nor .png, can't be written, or this Java can't draw
     */
    public static PlotFile of(String name) {
        try {
            return of(Path.of(name));
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("'" + name + "' can't be a file's name", e);
        }
    }

    /** The same of a path. */
    public static PlotFile of(Path path) {
        String name = path.toString().toLowerCase(Locale.ROOT);
        for (Format format : Format.values()) {
            if (name.endsWith("." + format.name().toLowerCase(Locale.ROOT))) {
                requireGraphics();
                return new PlotFile(new OutputFile(path).path(), format);
            }
        }
        throw new IllegalArgumentException(
                "a picture goes into a file whose name ends in .svg or .png, not '" + path + "'");
    }

    /** A small runtime, such as that of scripts/gpu-bundle.sh, lacks what pictures are drawn with. */
    private static void requireGraphics() {
        if (ModuleLayer.boot().findModule("java.desktop").isEmpty()) {
            throw new IllegalArgumentException(
                    "this Java runtime can't draw pictures, for it has no module java.desktop;"
                            + " leave the picture out, keep the JSON output, or use a whole JDK");
        }
    }
}
