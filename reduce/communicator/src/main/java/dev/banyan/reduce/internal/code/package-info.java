/** Schedules compiled for the host: chunks as steps or as fused loops, which threads run block by block. */
@NullMarked
package dev.banyan.reduce.internal.code;

import org.jspecify.annotations.NullMarked;
