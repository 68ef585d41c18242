package dev.banyan.reduce.internal.processes;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A folder that belongs to this user and that no other user may write to. In it an {@link Announcement} is the name of
 * an empty file, so that it comes and goes at once and whole, and nobody removes another one by mistake.
 */
final class MeetingFolder implements AutoCloseable {
    /** Only this user has access. The sticky bit, otherwise unused here, marks folders that jobs have made. */
    private static final int MADE = 01700;

    private static final int STICKY = 01000;
    private static final int OTHERS_WRITE = 0022;
    private static final String REMEDY =
            "; set BANYAN_RENDEZVOUS to a folder of your own, or to one that does not exist";

    private final Path folder;
    private final PinnedFile pinned;

    private MeetingFolder(Path folder, PinnedFile pinned) {
        this.folder = folder;
        this.pinned = pinned;
    }

    /** Makes the folder unless there is something at its path. */
    static void make(Path folder) throws IOException {
        var ofThisUser = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
        Path parent = folder.toAbsolutePath().getParent();
        if (parent != null) {
            Files.createDirectories(parent, ofThisUser);
        }
        if (!LinuxCalls.makeFolder(folder.toString(), MADE) && !Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
            // Throws why the folder cannot be made, unless it has just gone.
            Files.createDirectories(folder, ofThisUser);
        }
    }

    /**
     * Opens the folder, or returns null if there is none.
     *
     * @throws IllegalStateException if it belongs to another user or another user may write to it
     */
    static @Nullable MeetingFolder open(Path folder) {
        try {
            if (Files.isSymbolicLink(folder)) {
                throw new IllegalStateException("the rendezvous " + folder + " is a link of user "
                        + Files.getOwner(folder, LinkOption.NOFOLLOW_LINKS) + REMEDY);
            }
            PinnedFile pinned = PinnedFile.ofFolder(folder);
            try {
                checkOwn(folder, pinned);
                return new MeetingFolder(folder, pinned);
            } catch (Throwable e) {
                pinned.close();
                throw e;
            }
        } catch (NoSuchFileException e) {
            return null;
        } catch (IOException e) {
            throw new UncheckedIOException("the rendezvous " + folder + " cannot be read" + REMEDY, e);
        }
    }

    private static void checkOwn(Path folder, PinnedFile pinned) throws IOException {
        if (pinned.user() != ProcessStatus.own().user()) {
            throw new IllegalStateException(
                    "the rendezvous " + folder + " belongs to user " + Files.getOwner(pinned.path()) + REMEDY);
        }
        if ((pinned.mode() & OTHERS_WRITE) != 0) {
            throw new IllegalStateException("other users may write to the rendezvous " + folder
                    + "; take that right from them (chmod go-w), or set BANYAN_RENDEZVOUS to a folder that does not"
                    + " exist");
        }
    }

    /** Returns all announcements, also of processes that have ended; none if the folder has gone. */
    List<Announcement> read() throws IOException {
        try (Stream<Path> files = Files.list(pinned.path())) {
            return files.flatMap(file -> Announcement.parse(file.getFileName().toString()).stream())
                    .toList();
        } catch (UncheckedIOException e) {
            if (e.getCause() instanceof NoSuchFileException) {
                return List.of();
            }
            throw e.getCause();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    /** Adds an announcement; returns false if the folder has gone. */
    boolean add(Announcement made) throws IOException {
        try {
            var _ = Files.createFile(file(made));
            return true;
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    void remove(Announcement announcement) throws IOException {
        boolean _ = Files.deleteIfExists(file(announcement));
    }

    private Path file(Announcement announcement) {
        return pinned.path().resolve(announcement.fileName());
    }

    /** Removes the folder if a job has made it and nothing is in it. */
    void removeIfMade() throws IOException {
        if ((pinned.mode() & STICKY) != 0) {
            try {
                boolean _ = Files.deleteIfExists(folder);
            } catch (DirectoryNotEmptyException e) {
                // Another job meets here.
            }
        }
    }

    @Override
    public void close() {
        pinned.close();
    }
}
