package dev.banyan.cli.tune;

import dev.banyan.cli.output.TextFile;
import dev.banyan.reduce.internal.Deadlines;
import dev.banyan.schedule.plan.Tuning;
import dev.banyan.schedule.plan.TuningFile;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFileAttributeView;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Adds sections to a tuning file that several processes may write. A process reads, merges and writes while it holds a
 * lock of a file beside the tuning file, which stays there. The new content replaces the old one in one step, so that
 * readers need no lock.
 */
final class SharedTuningFile {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration PAUSE = Duration.ofMillis(5);

    private final Path file;
    private final Deadlines deadlines;

    SharedTuningFile(Path file) {
        this(file, Deadlines.SYSTEM);
    }

    /** @param deadlines end the wait for another process */
    SharedTuningFile(Path file, Deadlines deadlines) {
        this.file = file;
        this.deadlines = deadlines;
    }

    /**
     * Adds a section to what the file holds now.
     *
     * @throws java.io.UncheckedIOException if that fails; the message names the file and the remedy
     */
    void add(Tuning section) {
        if (Files.exists(file) && !Files.isRegularFile(file)) {
            TextFile.write(file, TuningFile.EMPTY.with(section).lines());
        } else {
            TextFile.write(file, (TextFile.Content) to -> add(target(to), section));
        }
    }

    /** Returns the file behind a symbolic link, which must stay a link. */
    private static Path target(Path file) throws IOException {
        return Files.exists(file) ? file.toRealPath() : file.toAbsolutePath();
    }

    private void add(Path target, Tuning section) throws IOException {
        Path beside = target.resolveSibling("." + target.getFileName() + ".lock");
        try (FileChannel channel = FileChannel.open(beside, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                FileLock _ = lock(channel, beside)) {
            TuningFile before = Files.exists(target) ? TuningFile.read(target) : TuningFile.EMPTY;
            replace(target, String.join("\n", before.with(section).lines()) + "\n");
        }
    }

    private FileLock lock(FileChannel channel, Path beside) throws IOException {
        AtomicBoolean late = new AtomicBoolean();
        Future<?> deadline = deadlines.after(PATIENCE.toNanos(), () -> late.set(true));
        try {
            while (!late.get()) {
                FileLock lock = tried(channel);
                if (lock != null) {
                    return lock;
                }
                LockSupport.parkNanos(PAUSE.toNanos());
            }
        } finally {
            deadline.cancel(false);
        }
        throw new IOException("another process has held the lock of " + beside + " for " + PATIENCE.toSeconds()
                + " s; end it and run this command again");
    }

    /** Returns the lock, or null if another process or another thread of this one holds it. */
    private static @Nullable FileLock tried(FileChannel channel) throws IOException {
        try {
            return channel.tryLock();
        } catch (OverlappingFileLockException e) {
            return null;
        }
    }

    /** Writes a file under another name and renames it; the holder of the lock alone uses that name. */
    private static void replace(Path target, String text) throws IOException {
        Path temporary = target.resolveSibling("." + target.getFileName() + ".new");
        try {
            Files.deleteIfExists(temporary);
            Files.writeString(temporary, text, StandardOpenOption.CREATE_NEW);
            PosixFileAttributeView view = Files.getFileAttributeView(target, PosixFileAttributeView.class);
            if (view != null && Files.exists(target)) {
                Files.setPosixFilePermissions(temporary, view.readAttributes().permissions());
            }
            Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(temporary);
        }
    }
}
