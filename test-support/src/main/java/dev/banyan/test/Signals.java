package dev.banyan.test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardWatchEventKinds;
import java.nio.file.WatchKey;
import java.nio.file.WatchService;
import java.util.stream.Stream;

/**
 * Events that the processes of a test signal to each other by files.
 *
 * @param folder of all of them, which exists
 */
public record Signals(Path folder) {
    /** Says that something has happened. Each name is given once. */
    public void give(String name) throws IOException {
        Files.createFile(folder.resolve(name));
    }

    /** Waits until so many signals have been given whose names begin with a prefix. */
    public void await(String prefix, int number) throws IOException, InterruptedException {
        try (WatchService watch = folder.getFileSystem().newWatchService()) {
            // A signal is counted below, or the service reports its file.
            folder.register(watch, StandardWatchEventKinds.ENTRY_CREATE);
            while (count(prefix) < number) {
                WatchKey created = watch.take();
                var _ = created.pollEvents();
                var _ = created.reset();
            }
        }
    }

    private long count(String prefix) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.getFileName().toString().startsWith(prefix))
                    .count();
        }
    }
}
