/** Schedules as MSCCL algorithm files, and back. */
@NullMarked
package dev.banyan.reduce.msccl;

import org.jspecify.annotations.NullMarked;
