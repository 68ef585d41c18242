package dev.banyan.cli.plot;

import java.nio.file.Files;
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
     * @throws IllegalArgumentException if it is neither .svg nor .png, or if there is no folder for it
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
                return new PlotFile(inFolder(path), format);
            }
        }
        throw new IllegalArgumentException(
                "a picture goes into a file whose name ends in .svg or .png, not '" + path + "'");
    }

    private static Path inFolder(Path path) {
        Path folder = path.toAbsolutePath().getParent();
        if (folder == null || !Files.isDirectory(folder)) {
            throw new IllegalArgumentException(
                    "there is no folder " + folder + " for " + path.getFileName() + "; make it first");
        }
        if (Files.isDirectory(path)) {
            throw new IllegalArgumentException(path + " is a folder; name a file");
        }
        return path;
    }
}
