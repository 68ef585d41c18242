/**
 * The kernels as PTX text, and the layouts of the memory by which device programs talk to the host.
 *
 * <p>All but programs, trials and those with tables are element-wise. Addresses are 64-bit and aligned to the element,
 * {@code count} is in elements; a thread takes elements in strides of the whole grid, so any grid does.
 *
 * <table>
 * <caption>Names and parameters</caption>
 * <tr><th>name</th><th>parameters</th><th>what</th></tr>
 * <tr><td>banyan_reduce_OP_TYPE_K</td><td>u64 target, u64 source 0 .. source K-1, u64 count, u32 divisor</td>
 *     <td>target = ((s0 op s1) op s2) ..., K at least 2, then divided by the divisor unless that is 1; OP sum,
 *     prod, min, max; TYPE f32, f64, f16, bf16, i8, u8, i32, i64, and i128 (two's complement, low half first)
 *     for sum; a divisor for floats only; 16-bit types are combined and divided in 32-bit and rounded once;
 *     the target may be a source</td></tr>
 * <tr><td>banyan_widen_TYPE</td><td>u64 target, u64 source, u64 count</td><td>i8, u8 and i32 to i64; i64 to
 *     i128</td></tr>
 * <tr><td>banyan_mean_TYPE</td><td>u64 target, u64 source, u64 count, u32 divisor</td><td>the wide sums divided,
 *     rounded toward zero, as TYPE i8, u8, i32, i64</td></tr>
 * <tr><td>banyan_program_OP_TYPE</td><td>u64 table, u64 base, u64 control, u64 timeout in ns, u64 buffer0 ..
 *     buffer31</td> <td>runs the loops of a {@linkplain ProgramTable table}, a block for each of its
 *     blocks, of 64 to 544 threads in warps, of which the last warp posts flags; reports in a {@linkplain
 *     ProgramStatus control block} that all have ended, or why a block stopped</td></tr>
 * <tr><td>banyan_store_trial</td><td>u64 source, u64 target, u64 flag, u64 received, u64 awaited, u64 seen, u64
 *     control, u64 value</td> <td>one block stores the source to the target of another device, and the value to its
 *     flag; when the awaited flag has the value, it copies what was received to what was seen</td></tr>
 * <tr><td>banyan_update_RULE_TYPE</td><td>table of values, u32 entries, u32 first, coefficients</td><td>values changed
 *     by their gradients; RULE sgd, sgd_momentum, adam, adam_w; TYPE f32, f64, f16, bf16</td></tr>
 * <tr><td>banyan_sum_STAGE_TYPE_BITS</td><td>table of values, codes and integers, u32 entries, s32 exponent for code
 *     0, u32 divisor</td><td>a pass of {@linkplain dev.banyan.reduce.internal.sum.ReproducibleSum reproducible sums};
 *     STAGE codes, integers, results; TYPE f32, f64, f16, bf16; BITS of an integer</td></tr>
 * </table>
 *
 * <p>The results are those of the host backend, bit for bit (the payload of a NaN excepted).
 */
@NullMarked
package dev.banyan.cuda.internal.ptx;

import org.jspecify.annotations.NullMarked;
