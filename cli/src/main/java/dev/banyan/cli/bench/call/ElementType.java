package dev.banyan.cli.bench.call;

import dev.banyan.schedule.type.DataType;
import java.util.Locale;

/** An element type under the names that nccl-tests give it. */
public enum ElementType {
    INT8(DataType.I8),
    UINT8(DataType.U8),
    INT32(DataType.I32),
    INT64(DataType.I64),
    HALF(DataType.F16),
    BFLOAT16(DataType.BF16),
    FLOAT(DataType.F32),
    DOUBLE(DataType.F64);

    private final DataType type;

    ElementType(DataType type) {
        this.type = type;
    }

    public DataType type() {
        return type;
    }

    /** Name as nccl-tests write it. */
    public String label() {
        return name().toLowerCase(Locale.ROOT);
    }
}
