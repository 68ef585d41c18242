package dev.banyan.gpuday;

import dev.banyan.BanyanException;

/** A measurement has no meaning on this machine. The message says why in one sentence. */
public final class SkippedException extends BanyanException {
    private static final long serialVersionUID = 1;

    SkippedException(String reason) {
        super(reason);
    }
}
