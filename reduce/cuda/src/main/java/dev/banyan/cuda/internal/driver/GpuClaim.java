package dev.banyan.cuda.internal.driver;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes known to other processes of this machine that this one uses a GPU, by the lock of an empty file in the folder
 * of temporary files. The system gives the lock back when the process ends. Processes that see other folders, in
 * containers, do not find each other.
 *
 * <p>Safe for use from any thread.
 */
final class GpuClaim implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(GpuClaim.class);

    /** The claims of this process, by the GPU's UUID. */
    private static final Map<String, GpuClaim> HELD = new HashMap<>();

    private final String uuid;
    private final @Nullable FileChannel file;
    private int users;

    private GpuClaim(String uuid, @Nullable FileChannel file) {
        this.uuid = uuid;
        this.file = file;
    }

    /**
     * Claims a GPU until {@link #close}, and logs a warning if another process has claimed it.
     *
     * @param name of the GPU, for the warning
     */
    static GpuClaim of(String uuid, String name) {
        synchronized (HELD) {
            GpuClaim claim = HELD.computeIfAbsent(uuid, _ -> new GpuClaim(uuid, lock(uuid, name)));
            claim.users++;
            return claim;
        }
    }

    /** Returns the locked file, or null if there is none that this process may lock. */
    private static @Nullable FileChannel lock(String uuid, String name) {
        Path path = Path.of(System.getProperty("java.io.tmpdir"), "banyan-gpu-" + uuid);
        try {
            if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                Files.createFile(path);
            }
            // A file of another user may be read, and the lock of a reader also shows others that it is there.
            boolean isOwn = Files.isWritable(path);
            if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
                return null;
            }
            FileChannel file = isOwn
                    ? FileChannel.open(path, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)
                    : FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
            FileLock lock = file.tryLock(0, Long.MAX_VALUE, !isOwn);
            if (lock == null) {
                LOG.warn(
                        "another process has a communicator on {}: the GPU gives each process its turn, which is slow,"
                                + " and under MPS their kernels may wait for each other until BANYAN_TIMEOUT_MS; give"
                                + " each process GPUs of its own",
                        name);
            }
            return file;
        } catch (IOException e) {
            LOG.debug("other processes on {} are not looked for", name, e);
            return null;
        }
    }

    /** Gives the claim up when all its users have closed it. */
    @Override
    public void close() {
        synchronized (HELD) {
            if (--users > 0) {
                return;
            }
            HELD.remove(uuid);
            try {
                if (file != null) {
                    file.close();
                }
            } catch (IOException e) {
                LOG.debug("the claim of a GPU is left to the end of the process", e);
            }
        }
    }
}
