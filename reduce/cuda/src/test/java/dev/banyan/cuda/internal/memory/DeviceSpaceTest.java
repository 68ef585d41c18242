package dev.banyan.cuda.internal.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class DeviceSpaceTest {
    @Test
    void aStartOfItsThreadThatFailsIsTriedAgain() {
        AtomicInteger starts = new AtomicInteger();
        DeviceSpace space = new DeviceSpace(task -> {
            if (starts.getAndIncrement() == 0) {
                throw new OutOfMemoryError("unable to create native thread");
            }
            Thread.ofPlatform().start(task);
        });
        assertThatThrownBy(() -> space.slice(4096, 8)).isInstanceOf(OutOfMemoryError.class);
        MemorySegment segment = space.slice(4096, 8);
        assertThat(segment.address()).isEqualTo(4096);
        assertThatThrownBy(() -> segment.get(ValueLayout.JAVA_BYTE, 0)).isInstanceOf(WrongThreadException.class);
        assertThat(space.slice(0, 8).byteSize()).isEqualTo(8);
        assertThat(starts).hasValue(2);
    }
}
