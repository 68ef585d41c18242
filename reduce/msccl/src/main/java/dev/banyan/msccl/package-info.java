/** Schedules as MSCCL algorithm files, and back. */
@NullMarked
package dev.banyan.msccl;

import org.jspecify.annotations.NullMarked;
