package dev.banyan.schedule.internal.program;

import java.util.List;

/**
 * Moves over one range of elements, which may be cut into slices at any element: a slice depends on no other one.
 *
 * @param bytes length of every operand, positive
 * @param moves the moves, each behind those that it waits for
 * @param channels between them
 */
public record Lane(long bytes, List<Move> moves, List<Channel> channels) {
    /** @throws IllegalArgumentException if the length is not positive or a channel leads to no move */
    public Lane {
        moves = List.copyOf(moves);
        channels = List.copyOf(channels);
        if (bytes <= 0) {
            throw new IllegalArgumentException("a lane of " + bytes + " bytes");
        }
        for (Channel channel : channels) {
            if (channel.to() >= moves.size()) {
                throw new IllegalArgumentException("a channel to move " + channel.to() + " of " + moves.size());
            }
        }
    }

    /** Returns the rank of the move at the beginning of a channel. */
    public int sender(Channel channel) {
        return moves.get(channel.from()).rank();
    }

    /** Returns the rank of the move at the end of a channel. */
    public int receiver(Channel channel) {
        return moves.get(channel.to()).rank();
    }
}
