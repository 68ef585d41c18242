package dev.banyan.reduce.internal.processes;

import dev.banyan.reduce.backend.CollectiveTimeoutException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A port of this machine on which process 0 of a job says where its control block is. Who connects gets the {@link
 * Announcement}, and nothing that is sent is read. A process of another user that listens in place of process 0 can
 * only announce memory that this one must not open.
 */
final class TcpMeeting implements Meeting {
    private static final String SCHEME = "tcp";
    private static final int ANSWER_MILLIS = 1_000;
    private static final int MOST_BYTES = 100;
    private static final Logger LOG = LoggerFactory.getLogger(TcpMeeting.class);

    private final JobPlace place;
    private final InetSocketAddress address;
    private @Nullable ServerSocket listening;

    /** @throws IllegalStateException if the place is no address with a port */
    TcpMeeting(JobPlace place) {
        this.place = place;
        address = address(place.meeting());
    }

    /** Returns whether a meeting is at a port. */
    static boolean isAt(String meeting) {
        return meeting.startsWith(SCHEME + "://");
    }

    private static InetSocketAddress address(String meeting) {
        try {
            URI uri = URI.create(meeting);
            if (uri.getHost() != null && uri.getPort() > 0 && uri.getPort() < 1 << 16) {
                return new InetSocketAddress(InetAddress.getByName(uri.getHost()), uri.getPort());
            }
        } catch (IllegalArgumentException | UnknownHostException e) {
            throw wrong(meeting, e);
        }
        throw wrong(meeting, null);
    }

    private static IllegalStateException wrong(String meeting, @Nullable Exception cause) {
        return new IllegalStateException(
                "BANYAN_RENDEZVOUS is " + meeting + ", which is no address of this machine with a port; give one such"
                        + " as tcp://127.0.0.1:29400, or a folder",
                cause);
    }

    @Override
    public SharedMemory open(long deadline) {
        return place.process() == 0 ? publish() : find(deadline);
    }

    private SharedMemory publish() {
        SharedMemory memory = ControlBlock.make(place.processes());
        try {
            ServerSocket server = new ServerSocket();
            listening = server;
            server.bind(address);
            byte[] line = Announcement.of(memory).line().getBytes(StandardCharsets.US_ASCII);
            Thread.ofPlatform().daemon().name("banyan-rendezvous").start(() -> answer(server, line));
            return memory;
        } catch (IOException e) {
            memory.close();
            throw new UncheckedIOException(
                    "process 0 cannot listen on " + place.meeting() + "; set BANYAN_RENDEZVOUS to a free port", e);
        } catch (Throwable e) {
            memory.close();
            throw e;
        }
    }

    /** Answers until the meeting is closed. */
    private static void answer(ServerSocket server, byte[] line) {
        while (!server.isClosed()) {
            try (Socket caller = server.accept()) {
                caller.getOutputStream().write(line);
            } catch (IOException e) {
                LOG.debug("a process has gone, or the meeting is over", e);
            }
        }
    }

    private SharedMemory find(long deadline) {
        for (SharedMemory found = tryToFind(); ; found = tryToFind()) {
            if (found != null) {
                return found;
            }
            if (System.nanoTime() - deadline > 0) {
                throw new CollectiveTimeoutException("process 0 of this job does not listen on " + place.meeting()
                        + "; start it with the same BANYAN_RENDEZVOUS, or allow more time by BANYAN_TIMEOUT_MS");
            }
            Naps.nap();
        }
    }

    private @Nullable SharedMemory tryToFind() {
        try (Socket socket = new Socket()) {
            socket.connect(address, ANSWER_MILLIS);
            socket.setSoTimeout(ANSWER_MILLIS);
            String line = new String(socket.getInputStream().readNBytes(MOST_BYTES), StandardCharsets.US_ASCII);
            // A listener that is just closing says nothing; its job is complete without this process.
            return line.isEmpty()
                    ? null
                    : Announcement.parse(line)
                            .orElseThrow(() -> new IllegalStateException("what listens on " + place.meeting()
                                    + " is not process 0 of a job; set BANYAN_RENDEZVOUS to a free port"))
                            .open(place.processes());
        } catch (ConnectException e) {
            return null;
        } catch (IOException e) {
            throw new UncheckedIOException(
                    place.meeting() + " does not answer as process 0 of a job does; set BANYAN_RENDEZVOUS to a free"
                            + " port",
                    e);
        }
    }

    /** Ends the answers of this process, if it gives any. */
    @Override
    public void close() {
        ServerSocket server = listening;
        if (server != null) {
            try {
                server.close();
            } catch (IOException e) {
                LOG.debug("the port cannot be closed", e);
            }
        }
    }
}
