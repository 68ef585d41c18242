package dev.banyan.nccl.internal;

import dev.banyan.BanyanException;

/** NCCL cannot be used, or a call of it failed. The message is one sentence. */
public final class NcclException extends BanyanException {
    private static final long serialVersionUID = 1L;

    NcclException(String message) {
        super(message);
    }

    NcclException(String message, Throwable cause) {
        super(message, cause);
    }
}
