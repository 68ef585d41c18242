package dev.banyan.kvstore.engine;

/** A thread of an engine. Nothing on it may wait for the engine. */
final class WorkerThread extends Thread {
    WorkerThread(Workers workers, String name) {
        super(workers::serve, name);
        setDaemon(true);
    }
}
