package dev.banyan.cli.output;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/**
 * A file that a command will write. Whether it can be written is found out before the command's work, as far as that
 * is possible.
 *
 * @param path a file, which may be there already, in a folder that is there
 */
public record OutputFile(Path path) {
    /** @throws IllegalArgumentException if there is no such folder, or the path is a folder or may not be written */
    public OutputFile {
        Path folder = path.toAbsolutePath().getParent();
        if (folder == null || Files.isDirectory(path)) {
            throw new IllegalArgumentException(path + " is a folder; name a file");
        }
        if (!Files.isDirectory(folder)) {
            throw new IllegalArgumentException(
                    "there is no folder " + folder + " for " + path.getFileName() + "; make it first");
        }
        if (!Files.isWritable(Files.exists(path) ? path : folder)) {
            throw new IllegalArgumentException(path + " may not be written; name another file or change permissions");
        }
    }

    /** Returns the file of a name, which is refused as above. */
    public static OutputFile of(String name) {
        try {
            return new OutputFile(Path.of(name));
        } catch (InvalidPathException e) {
            throw new IllegalArgumentException("'" + name + "' can't be a file's name", e);
        }
    }

    /**
     * Makes the folder of a path where it is missing.
     *
     * @return the file in it, which is refused as above
     * @throws UncheckedIOException if the folder can't be made
     */
    public static OutputFile makingFolder(Path path) {
        Path folder = path.toAbsolutePath().getParent();
        try {
            if (folder != null) {
                Files.createDirectories(folder);
            }
        } catch (FileAlreadyExistsException e) {
            throw new UncheckedIOException(e.getFile() + " is a file, where a folder is needed; name another one", e);
        } catch (IOException e) {
            throw new UncheckedIOException("can't make the folder " + folder + " (" + e + "); name another one", e);
        }
        return new OutputFile(path);
    }

    @Override
    public String toString() {
        return path.toString();
    }
}
