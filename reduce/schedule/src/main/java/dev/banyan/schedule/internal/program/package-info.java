/**
 * Device programs: a schedule as moves of data that one kernel on every device carries out.
 *
 * <p>A program pushes all data. A {@link Move move} loads from memory of its own device
 * alone, and stores there and over {@link Channel channels} into the memory of others. The
 * moves of a {@link Lane lane} work on one range of elements, which a kernel cuts into
 * slices. Which block of which device repeats which move is a {@link Grid grid}. Programs
 * are data: they know no addresses and no operation, and {@link ProgramVerifier} proves
 * them before they run.
 */
@NullMarked
package dev.banyan.schedule.internal.program;

import org.jspecify.annotations.NullMarked;
