package dev.banyan.cuda;

import java.util.ArrayDeque;
import java.util.Deque;
import jcuda.driver.CUevent;

/** Events of one device that are used again. Safe for use from any thread. */
final class EventPool {
    private final DriverObjects objects;
    private final Deque<CUevent> spare = new ArrayDeque<>();

    /** @param objects own the events */
    EventPool(DriverObjects objects) {
        this.objects = objects;
    }

    synchronized CUevent take() {
        CUevent event = spare.poll();
        return event == null ? objects.event() : event;
    }

    synchronized void give(CUevent event) {
        spare.push(event);
    }
}
