package dev.banyan.dlc.internal.format;

/** One line of a trace. */
public sealed interface DlcRecord permits DlcMessage, DlcSetup {
    /** The text before the name of an operation. */
    String OPERATION = "OP:=";

    /** The text of a column that has no value. */
    String NOTHING = "-1";

    /** Times are written as seconds and microseconds. */
    long US_PER_SECOND = 1_000_000;

    /** Number of the record in its trace, as the file has it; some tracers give one twice. */
    int id();

    /** Node that sent the message. */
    int src();

    /** Node that received it. */
    int dst();

    /** Length of the message in bytes, with what its transport adds. */
    long length();
}
