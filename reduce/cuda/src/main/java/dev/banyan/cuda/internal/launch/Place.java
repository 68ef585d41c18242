package dev.banyan.cuda.internal.launch;

import dev.banyan.cuda.type.CudaStreams;
import dev.banyan.reduce.backend.Completion;
import org.jspecify.annotations.Nullable;

/**
 * The place of a run in what its caller does.
 *
 * @param streams the streams in which it has a place, or null
 * @param completion learns of its end
 */
public record Place(@Nullable CudaStreams streams, Completion completion) {}
