package dev.banyan.reduce.internal.processes;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder in which process 0 of a job says where its control block is. The file in it is of this user alone, holds no
 * secret, since only processes of the same user can open the block, and goes when all have joined.
 */
final class FolderMeeting implements Meeting {
    private static final Logger LOG = LoggerFactory.getLogger(FolderMeeting.class);

    /** Belongs to the user of this process. */
    private static final Path OWN_FILES = Path.of("/proc/self");

    private final JobPlace place;
    private final Path folder;
    private final Path file;
    private boolean published;
    private boolean madeFolder;

    FolderMeeting(JobPlace place) {
        this.place = place;
        folder = Path.of(place.meeting());
        file = folder.resolve("control");
    }

    @Override
    public SharedMemory open(long deadline) {
        return place.process() == 0 ? publish() : find(deadline);
    }

    /** Makes the control block and says where it is. */
    private SharedMemory publish() {
        SharedMemory memory = ControlBlock.make(place.processes());
        try {
            madeFolder = !Files.exists(folder);
            Files.createDirectories(
                    folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            Path made = Files.createTempFile(folder, "control", null);
            Files.writeString(made, Announcement.of(memory).line(), StandardCharsets.US_ASCII);
            Files.move(made, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            published = true;
            return memory;
        } catch (IOException e) {
            memory.close();
            throw new UncheckedIOException(
                    "process 0 cannot write to " + folder + "; set BANYAN_RENDEZVOUS to a folder of its own", e);
        } catch (Throwable e) {
            memory.close();
            throw e;
        }
    }

    /** Waits for process 0 and opens its control block. */
    private SharedMemory find(long deadline) {
        for (SharedMemory found = tryToFind(); ; found = tryToFind()) {
            if (found != null) {
                return found;
            }
            if (System.nanoTime() - deadline > 0) {
                throw new CollectiveTimeoutException("process 0 of this job has not come to " + folder
                        + "; start it with the same BANYAN_RENDEZVOUS and in the same PID namespace, or allow more time"
                        + " by BANYAN_TIMEOUT_MS");
            }
            Naps.nap();
        }
    }

    private @Nullable SharedMemory tryToFind() {
        String line;
        try {
            if (!Files.getOwner(file).equals(Files.getOwner(OWN_FILES))) {
                throw new AccessDeniedException(file.toString());
            }
            line = Files.readString(file, StandardCharsets.US_ASCII);
        } catch (NoSuchFileException e) {
            return null;
        } catch (FileSystemException e) {
            throw new IllegalStateException(
                    file + " cannot be read; it belongs to a job of another user. Set"
                            + " BANYAN_RENDEZVOUS to a folder of its own",
                    e);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + file, e);
        }
        Announcement found = Announcement.parse(line)
                .orElseThrow(() -> new IllegalStateException(
                        file + " is not from process 0 of a job; set BANYAN_RENDEZVOUS to a folder of its own"));
        // A file of a process that has ended was left by another job.
        return found.maker().isAlive() ? found.open(place.processes()) : null;
    }

    /** Removes the file that this process has published, if it has. */
    @Override
    public void close() {
        if (published) {
            published = false;
            try {
                Files.deleteIfExists(file);
                if (madeFolder) {
                    Files.deleteIfExists(folder);
                }
            } catch (IOException e) {
                LOG.debug("the folder {} is left, as another job uses it", folder, e);
            }
        }
    }
}
