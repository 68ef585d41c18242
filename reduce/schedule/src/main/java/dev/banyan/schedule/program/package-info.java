/**
 * Device programs: a schedule as moves of data that one kernel on every device carries out.
 *
 * <p>A program pushes all data. A {@link dev.banyan.schedule.program.Move move} loads from memory of its own device
 * alone, and stores there and over {@link dev.banyan.schedule.program.Channel channels} into the memory of others. The
 * moves of a {@link dev.banyan.schedule.program.Lane lane} work on one range of elements, which a kernel cuts into
 * slices. Which block of which device repeats which move is a {@link dev.banyan.schedule.program.Grid grid}. Programs
 * are data: they know no addresses and no operation, and {@link dev.banyan.schedule.program.ProgramVerifier} proves
 * them before they run.
 */
@NullMarked
package dev.banyan.schedule.program;

import org.jspecify.annotations.NullMarked;
