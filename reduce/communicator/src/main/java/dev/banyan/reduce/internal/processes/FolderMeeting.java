package dev.banyan.reduce.internal.processes;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Processes meet in a folder, in which process 0 says where its control block is. The announcement goes when all have
 * joined, and so does the folder if process 0 has made it. If process 0 ends before, the others remove both.
 */
final class FolderMeeting implements Meeting {
    private static final Logger LOG = LoggerFactory.getLogger(FolderMeeting.class);

    private final JobPlace place;
    private final Path folder;
    /** Announcement of this process. */
    private @Nullable Announcement own;
    /** A process that has ended and whose announcement is still there. */
    private @Nullable ProcessId ended;
    /** A process of another PID namespace that has made a job in the folder. */
    private @Nullable ProcessId foreign;

    FolderMeeting(JobPlace place) {
        this.place = place;
        folder = Path.of(place.meeting());
    }

    @Override
    public SharedMemory open(long deadline) {
        return place.process() == 0 ? publish(deadline) : find(deadline);
    }

    /** Makes the control block and says where it is. */
    private SharedMemory publish(long deadline) {
        SharedMemory memory = ControlBlock.make(place.processes());
        try {
            Announcement made = Announcement.of(memory);
            while (!announce(made)) {
                if (System.nanoTime() - deadline > 0) {
                    throw new CollectiveTimeoutException("process 0 cannot announce its job in " + folder
                            + ", since other processes remove it; set BANYAN_RENDEZVOUS to a folder of its own");
                }
            }
            own = made;
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

    /** Returns whether it has; else the folder or an old announcement has just gone. */
    private boolean announce(Announcement made) throws IOException {
        MeetingFolder.make(folder);
        try (MeetingFolder here = MeetingFolder.open(folder)) {
            if (here == null) {
                return false;
            }
            for (Announcement other : visible(here)) {
                if (other.maker().isAlive()) {
                    throw new IllegalStateException(other.maker() + " meets in " + folder
                            + " as process 0; give each process of a job its own BANYAN_RANK and each job its own"
                            + " BANYAN_RENDEZVOUS, or end that process");
                }
                here.remove(other);
            }
            return here.add(made);
        }
    }

    /** Returns the announcements of this PID namespace; those of others are of other jobs, alive or not. */
    private static List<Announcement> visible(MeetingFolder here) throws IOException {
        List<Announcement> visible = new ArrayList<>();
        for (Announcement each : here.read()) {
            if (each.isVisible()) {
                visible.add(each);
            }
        }
        return visible;
    }

    /** Waits for process 0 and opens its control block. */
    private SharedMemory find(long deadline) {
        Reminder reminder = new Reminder(System.nanoTime());
        for (SharedMemory found = tryToFind(); ; found = tryToFind()) {
            if (found != null) {
                return found;
            }
            long now = System.nanoTime();
            if (reminder.isDue(now)) {
                LOG.warn("waiting for process 0 to come to {}", folder);
            }
            if (now - deadline > 0) {
                if (foreign != null) {
                    throw new CollectiveTimeoutException(foreign + ", which has made a job in " + folder
                            + ", does not share a PID namespace with this process; start all processes of a job in one"
                            + " (containers: --pid=host)");
                }
                throw new CollectiveTimeoutException(
                        ended == null
                                ? "process 0 of this job has not come to " + folder + ", or has left it after another"
                                        + " process failed; see what the others report, start process 0 with the same"
                                        + " BANYAN_RENDEZVOUS, or allow more time by BANYAN_TIMEOUT_MS"
                                : "process 0 (" + ended + ") of the job in " + folder + " has ended; start all"
                                        + " processes of the job anew");
            }
            Backoff.pause();
        }
    }

    private @Nullable SharedMemory tryToFind() {
        try (MeetingFolder here = MeetingFolder.open(folder)) {
            for (Announcement found : here == null ? List.<Announcement>of() : here.read()) {
                if (!found.isVisible()) {
                    foreign = found.maker();
                    continue;
                }
                if (found.maker().isAlive()) {
                    return found.open(place.processes());
                }
                // Perhaps another job has left it, and process 0 of this one will replace it.
                ended = found.maker();
            }
            return null;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read the rendezvous " + folder, e);
        }
    }

    /** Removes the announcement of this process, or of one that has ended. */
    @Override
    public void close() {
        try (MeetingFolder here = MeetingFolder.open(folder)) {
            if (here == null) {
                return;
            }
            for (Announcement each : visible(here)) {
                if (each.equals(own) || !each.maker().isAlive()) {
                    here.remove(each);
                }
            }
            here.removeIfMade();
        } catch (IOException | UncheckedIOException | IllegalStateException e) {
            LOG.warn("the rendezvous {} is left as it is: {}", folder, e.getMessage());
        } finally {
            own = null;
        }
    }
}
