package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;

/**
 * A file or a folder that stays the same, whatever its path names later. Nothing is opened, so that a pipe or a device
 * notices nothing. The folder {@code /proc/PID} pins its process: a later process with the same number is another one.
 *
 * @param descriptor names the file in this process
 */
record PinnedFile(int descriptor) implements AutoCloseable {
    /** Numbers of errors of the kernel. */
    private static final int NO_SUCH_FILE = 2;

    private static final int NO_SUCH_PROCESS = 3;
    private static final int ACCESS_DENIED = 13;
    private static final int NO_FOLDER = 20;
    private static final int TOO_MANY_FILES_OF_ALL = 23;
    private static final int TOO_MANY_FILES = 24;

    /**
     * Pins a file, behind links if there are any.
     *
     * @throws IOException if there is none or this process may not reach it
     */
    static PinnedFile of(Path path) throws IOException {
        return pinned(LinuxCalls.name(path.toString()), path);
    }

    /**
     * Pins a folder.
     *
     * @throws IOException if there is none or this process may not reach it, or if the path is a link
     */
    static PinnedFile ofFolder(Path path) throws IOException {
        return pinned(LinuxCalls.nameFolder(path.toString()), path);
    }

    private static PinnedFile pinned(int descriptor, Path path) throws IOException {
        if (descriptor < 0) {
            throw failure(-descriptor, path);
        }
        return new PinnedFile(descriptor);
    }

    /** Returns why the kernel does not open a file, by the number of its error. */
    static IOException failure(int error, Path path) {
        return switch (error) {
            case NO_SUCH_FILE, NO_SUCH_PROCESS -> new NoSuchFileException(path.toString());
            case ACCESS_DENIED -> new AccessDeniedException(path.toString());
            case NO_FOLDER -> new NotDirectoryException(path.toString());
            case TOO_MANY_FILES ->
                new IOException(path + " cannot be opened by this process; raise the limit of open files");
            case TOO_MANY_FILES_OF_ALL ->
                new IOException(path + " cannot be opened, as the machine has too many open files; end some processes");
            default -> new IOException(path + " cannot be opened: error " + error + " of the kernel");
        };
    }

    /** Returns a path by which this process reaches the file. */
    Path path() {
        return Path.of("/proc/self/fd/" + descriptor);
    }

    /** Returns the number of the user that the file belongs to. */
    int user() throws IOException {
        return (int) Files.getAttribute(path(), "unix:uid");
    }

    /** Returns the mode as the kernel gives it. */
    int mode() throws IOException {
        return (int) Files.getAttribute(path(), "unix:mode");
    }

    @Override
    public void close() {
        LinuxCalls.close(descriptor);
    }
}
