/** Execution plans of MSCCL++: written from trees, and read as schedules. */
@NullMarked
package dev.banyan.export.mscclpp;

import org.jspecify.annotations.NullMarked;
