package dev.banyan.cuda.emulator;

import java.util.stream.Stream;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUfunction;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/** A kernel of one block that adds two arrays of 32-bit integers. */
final class Addition {
    private static final String PTX = """
        .version 7.0
        .target sm_70
        .address_size 64
        .visible .entry add(.param .u64 target, .param .u64 source1, .param .u64 source2, .param .u64 count)
        {
            .reg .pred %p<1>;
            .reg .b32 %r<4>;
            .reg .b64 %rd<6>;
            ld.param.u64 %rd0, [target];
            ld.param.u64 %rd1, [source1];
            ld.param.u64 %rd2, [source2];
            ld.param.u64 %rd3, [count];
            mov.u32 %r0, %tid.x;
            cvt.u64.u32 %rd4, %r0;
            setp.ge.u64 %p0, %rd4, %rd3;
            @%p0 bra $end;
            mad.wide.u32 %rd5, %r0, 4, %rd1;
            ld.global.u32 %r1, [%rd5];
            mad.wide.u32 %rd5, %r0, 4, %rd2;
            ld.global.u32 %r2, [%rd5];
            add.u32 %r3, %r1, %r2;
            mad.wide.u32 %rd5, %r0, 4, %rd0;
            st.global.u32 [%rd5], %r3;
        $end:
            ret;
        }
        """;

    private Addition() {}

    static CUfunction addition() {
        return EmulatedGpus.function(PTX, "add");
    }

    /** @param addresses of the target and of the two sources */
    static Pointer parameters(long count, CUdeviceptr... addresses) {
        return Pointer.to(
                Stream.concat(Stream.of(addresses).map(Pointer::to), Stream.of(Pointer.to(new long[] {count})))
                        .toArray(Pointer[]::new));
    }

    static int launch(CUfunction function, @Nullable CUstream stream, long count, CUdeviceptr... addresses) {
        return JCudaDriver.cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, stream, parameters(count, addresses), null);
    }
}
